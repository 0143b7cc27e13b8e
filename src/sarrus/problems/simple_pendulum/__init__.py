"""The simple pendulum: a point mass on a massless bar, released from the horizontal."""

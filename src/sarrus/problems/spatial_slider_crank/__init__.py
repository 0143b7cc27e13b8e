"""The spatial slider-crank: a crank across the sliding direction, a rod on a ball and a cross."""

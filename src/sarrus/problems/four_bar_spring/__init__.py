"""A four-bar with a spring along its diagonal: equilibrium, and small motions about it."""

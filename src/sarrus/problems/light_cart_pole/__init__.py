"""A pole on a cart of next to no mass: the mass matrix is all but singular twice a period."""

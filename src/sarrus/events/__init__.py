"""Events of a run, located on the polynomials of its steps during `simulate`."""

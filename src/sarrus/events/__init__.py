"""Events of a run: what `simulate` looks for is located on the polynomials of its steps."""

"""Exact motions of the problems: closed forms and quadratures, independent of the simulator."""

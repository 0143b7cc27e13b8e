"""Exact motions of the problems: closed forms and quadratures that know nothing of the simulator."""

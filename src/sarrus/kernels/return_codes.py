"""Reasons why a compiled time loop returned. The corresponding messages are in methods/status.py."""

# The run reached its end; the buffer is full.
DONE = 0
FULL = 1
# No step satisfies constraints, branch and energy; no step is short enough.
STUCK = 2
TOO_SHORT = 3
# Accelerations are not finite; the whole state is not finite.
NOT_FINITE = 4
OVERFLOW = 5
# The iteration of a step does not converge; a loop does not close; the chosen independent velocities are linearly
# dependent.
NOT_CONVERGED = 6
TORN = 7
LOST_RANK = 8
# After the neighbourhood of a singular configuration the branch of the motion cannot be determined.
UNCERTAIN = 9
# User forces switch back and forth without time advancing.
SWITCHING = 10
# The next steps need another precision: double-double instead of double, or the reverse.
OTHER_DIGITS = 11

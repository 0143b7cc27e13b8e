"""Why a compiled time loop returned; the sentences are in methods/status.py."""

# the end of the run is reached, or the buffer is full
DONE = 0
FULL = 1
# no step keeps constraints, branch and energy; no step is short enough
STUCK = 2
TOO_SHORT = 3
# accelerations, or the whole state, are no numbers any more
NOT_FINITE = 4
OVERFLOW = 5
# the iteration of a step does not converge; loops are torn open; chosen velocities depend on each other
NOT_CONVERGED = 6
TORN = 7
LOST_RANK = 8
# behind a singular stretch nobody can tell which motion the run is on
UNCERTAIN = 9
# forces of users switch to and fro without time passing
SWITCHING = 10
# steps go on with numbers of more digits, or of fewer
OTHER_DIGITS = 11

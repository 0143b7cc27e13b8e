"""Thresholds that decide what is zero, equal, singular, redundant, closed or locked.

The comment above each name states first the quantity that the number is a share of (1: a pure number), then the
reason for its size. Except for drives and couplings, no threshold is a length or a time. Lengths are relative to
the length of the mechanism, angles are in radians, and times are relative to the duration of the run or to the
sampling interval. Rounding is 1e-16 of the numbers themselves, so a computed zero is some powers of ten above
that; numbers typed by people have 6 to 12 digits.

Where the comment gives only a size, the number was chosen by that size, and no others were tried. Numbers that
only control an iteration or a step are defined next to it. docs/thresholds.md has the table; a test compares it.
"""

# == Mechanisms as typed ==

# 1: larger numbers in a mechanism are rejected. Products of six such numbers are still finite doubles, and no
# machine needs them
LARGEST_NUMBER = 1e50
# the bodies' size, and rad: positions and axes of a joint on its two bodies that differ only by the rounding of
# their digits
JOINT_GAP = 1e-12
# the rod's length: distance of a joint from the rod it lies on; the same reason as JOINT_GAP
ON_ROD = 1e-12
# the rod's length: a joint, point or end this close to a rod was meant to lie on it and was typed with few digits
TYPED_GAP = 1e-6
# the largest value with the same unit, or the mechanism's own scale: plotted curves below this are rounding
CURVE_NOISE = 1e-12
# the same for velocities, accelerations, forces, torques and powers: near a crossing derivatives contain more
# rounding than positions
RATE_CURVE_NOISE = 1e-8
# the mechanism's size: smaller displacements of points that need not move are rounding of the solve
DROPPED_MOVE = 1e-13
# the value of a joint, or m and rad if that is below one: a drive motion typed with decimals that misses its
# joint's start value
DRIVE_START = 1e-9
# a given velocity: typed decimals that the joints do not quite allow
TYPED_VELOCITY = 1e-8
# the largest velocity: two velocity fields that differ by more are different solutions
SAME_VELOCITY = 1e-6

# the mechanism's size at the start: a note reports a body that has moved farther. Linkages stay within a few
# sizes; bodies that fall or fly away do not
FAR_AWAY = 10.0

# the mechanism's length: accuracy of the series method through singular configurations, where rounding grows with
# the order. Double four-bars started at 0.5 to 3 m/s had a median error of 5e-10 and at most 4e-9; radau had 2e-12
# and 5e-12
ACCURATE_THROUGH = 1e-9
# the mechanism's length: the tightest tolerance that is followed, with extended precision near singular
# configurations. States are doubles: over 10 s through ten singular configurations the error is up to 1e-12
TIGHTEST_TOLERANCE = 1e-13

# gravity, kinetic energy over the size, and the damper's own force: if the velocity error changes a damper force
# by more than this share, a note reports it. A drawing shows two digits of a force
NOISY_FORCE = 0.01

# == Files of other programs ==

# the mechanism's size, and rad: positions and directions in a file that differ only by the rounding of the program
# that wrote it
SAME_IN_FILE = 1e-13
# the ratio: the ratio of coupled joints is a ratio of whole numbers up to the printed digits
SAME_RATIO = 1e-9
# rad, or the mechanism's size: axes that count as parallel, perpendicular or intersecting
ROUGHLY_PARALLEL = 1e-6
# rad: axes of a body that were meant to be parallel or perpendicular and were printed with few digits
MEANT_SQUARE = 1e-5
# the mechanism's size: loops with smaller gaps, from printed digits, are closed, and a note reports it
BRIDGED = 1e-5

# == Model: natural coordinates ==

# the length: features of a body this close are one. A larger value would move joints; a smaller one would split
# features that only rounding separates
SAME_FEATURE = 1e-12
# rad: axes that differ only by the rounding of the arithmetic that computed them; a larger change is noted
ROUNDED_AXIS = 1e-14
# rad: axes of a locked linkage that are first made parallel, to test whether the linkage then moves; axes typed to
# 9 digits
ALIGNED_AXES = 1e-8
# a vector's length: component outside the span of a frame; rounding divided by the flatness of a frame as flat as
# FLATTEST
SPANNED = 4e-12
# 1, the sine of an angle: smallest angle between a frame vector and the plane of the others. A flatter frame would
# cost digits; an auxiliary vector costs three coordinates
FLATTEST = 0.1
# 1, coefficients are of order one: rounding of a zero coefficient in a linear relation
ZERO_COEFFICIENT = 1e-12
# 1: a linear relation with smaller coefficients may result from rounding of the dimensions; the local analysis of
# branches leaves it out
DOUBTFUL_COEFFICIENT = 1e-9
# the vector's length: rounding of a zero component
ZERO_COMPONENT = 1e-14
# 1, numbers of order one: linear forms whose coefficients and constants differ by less are the same form; rounding
# of a few products. Keeping two nearly equal forms would only cost time
SAME_FORM = 5e-14
# 1, numbers of order one: products of such forms that differ by less are the same equation
SAME_PRODUCT = 5e-13
# its entry in M: a coordinate with less mass is treated as massless, because J M^-1 J^T would be huge there and
# cost digits
LIGHT_MASS = 1e-4
# its entry in M: mass below this is rounding, so the coordinate is massless
NO_MASS = 1e-12
# numbers of a model: difference between two machines that sum in different orders
SAME_MODEL = 1e-9

# == Solving: pivots ==

# an equation's own J M^-1 J^T: regularisation subtracted at every equation so that dependent equations can be
# solved; far below one, above rounding
EPS = 1e-14
# an equation's own J M^-1 J^T: an equation whose pivot never exceeded this is redundant at every configuration.
# The value lies between EPS, the pivot of a redundant equation, and one. A pivot is the square of an angle, so
# swings of 1e-4 rad about a singular configuration show that an equation is not permanently redundant. With 1e-6,
# swings below 1e-3 rad were not recognised as singular; with 1e-10, outputs of redundant drives whose shares
# change over were taken for singular, without a force
PERMANENT_PIVOT = 1e-8
# the largest singular value of J: if fewer values are smaller at the start than pivots are permanently low, the
# start is only close to a singular configuration, and the run is repeated in extended precision. Values of
# redundant equations are rounding, or dimensions typed to 12 digits
HIDDEN_RANK = 1e-12
# an equation's own J M^-1 J^T: a redundant equation has the pivot EPS, times the contributions of other equations
# to the dependence; a larger pivot means that it replaces another equation
RISEN_PIVOT = 1e-12
# the equation's reference pivot: an equation with a lower pivot is replaced by a redundant one that rises as much.
# The motion alone usually changes pivots by less
LOWERED_PIVOT = 0.1
# an equation's own J J^T: a larger pivot results from motion, not from rounding (1e-16 times its growth in the
# elimination); it corresponds to links that swing by 3e-7 rad
SHOWN_PIVOT = 1e-13
# the equation's reference pivot: a local minimum of the pivots over the steps below this is checked with W; near
# misses have 4e-4
LOW_MINIMUM = 1e-2
# an equation's own J M^-1 J^T: below this pivot the effect of EPS remains after one refinement, so two are made
# (above it, (EPS / pivot)^2 is below rounding)
WEAK_PIVOT = 1e-6
# an equation's own J M^-1 J^T: if all pivots are larger, no equation is dependent and no singular configuration is
# near. Pivots hardly exceed one, and NEAR_SINGULAR_RATIO is a hundredth. EPS is not needed there
REGULAR_PIVOT = 0.1
# an equation's own J M^-1 J^T: if all pivots are larger, derivatives by parameters are computed without EPS. The
# rounding error of a solve grows with their inverse
CLEAR_PIVOT = 1e-4
# an equation's own J M^-1 J^T: an equation with a smaller pivot depends on others
DEPENDENT_PIVOT = 1e-9
# an equation's own J M^-1 J^T: EPS of the methods with a fixed step. Values from 1e-14 to 1e-5 were tried
# (docs/methods/multipliers.md); 1e-6 has the smallest error
SOFT_EPS = 1e-6
# the equation's reference pivot: if a step ends below this, its end is singular and a step from there would be
# noisy. A pivot is a square, so the links are at a hundredth of their usual angle
SINGULAR_STEP_END = 1e-4
# the equation's reference pivot: steps for derivatives by parameters do not end nearer to a singular configuration
# if another end is possible, because their rounding grows with the inverse of this
CLEAR_STEP_END = 3e-2
# the largest singular value of J: smaller singular values count as zero at the time found for a crossing
NULL_DIRECTION = 1e-6
# the terms of dPhi/dp: a smaller component along a null direction of J is rounding. It is about 1 for single
# lengths, and at most 1e-8 for changes that preserve the crossing
INTEGRABLE = 1e-6
# the derivative itself: largest accepted deviation of finite differences of neighbouring runs. Higher orders
# contribute a few percent at most; on another branch the deviation is many times larger
CONFIRMED = 0.03
# an equation's own J M^-1 J^T: a smaller pivot is rounding (EPS and what elimination adds to it) and does not
# measure the distance between branches
RESOLVED_PIVOT = 1e-12
# the smallest counted singular value of J, over its value where the run is regular: if it is not lower, the rank
# is unchanged, whatever single pivots do; near a singular configuration it measures the distance to it
KEPT_RANK = 0.05
# the smallest singular value of J: singular values below this multiple of it count as equally small, and branches
# separate along all of their directions
WEAK_TOGETHER = 10.0
# the root of the smallest pivot: assumed distance between branches where J is too large for its singular vectors;
# 0.12 to 0.47 was measured on double Watt linkages
UNMEASURED_DISTANCE = 0.05
# the distance between branches with a common tangent: a series continued through the neighbourhood of a singular
# configuration distinguishes them if its truncation error is smaller
SHARP_PREDICTION = 0.1
# the same distance: a configuration agrees with a prediction if it is no further away, a third of the distance to
# the other branch
AGREEING_PLACE = 0.3
# the equation's reference pivot: accelerations at a smaller pivot are rounding
SINGULAR_ACCELERATION = 1e-10
# the equation's reference pivot: a smaller pivot at the start of a run counts as zero; it is the square of an
# angle of 3e-5
SINGULAR_START = 1e-9
# the largest singular value: smaller singular values count as zero, as J at a regular configuration has entries of
# order one
DEPENDENT_VALUE = 1e-9
# the unit: if a pivot of the chosen independent velocities is smaller, they are no longer independent
WEAK_CHOICE = 1e-9
# a unit vector in the mass metric: remainder after projection of a motion that is not independent of those already
# found
NEW_MOTION = 1e-6
# terms of a constraint, of order one: the constraint is satisfied when its residual is the rounding of its terms
ROUND_OFF = 4e-16
# the same, of constraints with several terms: where what a change of the configuration leaves is below ROUND_OFF,
# a residual up to this size is the rounding of their sum, and another change would not reduce it
LEFT_ROUND_OFF = 8e-16
# the same in double-double arithmetic: the residual is the rounding of two doubles
WIDE_ROUND_OFF = 1e-30
# the same: largest change of constraints that lets a motion pass a singular configuration, or largest
# contradiction between them. It is ten times their rounding, because the dimensions have no more digits.
# Parallelograms, kites and scissors needed up to 3.5e-16
REPAIRED_MISFIT = 4e-15
# the length: J is not factored again if projection onto the constraints moved the configuration by less. The error
# left in a velocity correction, itself about as small, is the product of both and below rounding
SAME_FACTOR = 1e-9
# the length: a constraint violated by a whole link length means that the mechanism has come apart
TORN_OPEN = 1.0
# the largest value: compiled and interpreted user functions may differ by the order of operations
SAME_VALUE = 1e-9
# a step: output times this close to the end of a step coincide with it; rounding accumulates in the times of many
# steps
SAME_OUTPUT = 1e-7

# == The balance of a run: energy and losses ==

# the tolerance, times the energy exchanged: a larger energy error is noted. Runs of all problems at tolerances
# from 1e-4 to 1e-12 stay below 57, most below 5
DRIFT_NOTED = 100.0
# the same: a much larger energy error means that the run has left its motion. Near a singular configuration
# rounding may change the energy by 1e4 of these units in one step at the default tolerance (NOISE in
# kernels/step_control.py); a correct run that starts at a bifurcation was measured at 1.1e4
DRIFT_FAR = 5e4
# the energy exchanged: upper limit of the accepted energy error, however loose the tolerance
DRIFT_MOST = 0.1
# the energy exchanged: with a step size chosen by the user, a larger energy error is noted; it is visible in a
# plot
DRIFT_AT_STEP = 1e-3
# all energies in the balance: their rounding, summed over many steps
DRIFT_ROUNDING = 1e-11
# the tolerance, times all energies in the balance: positions have errors of the tolerance, on which gravity and
# springs do work; where little moves, no other energy is exchanged. A structure whose loops close to 1e-10 was
# measured at 9
DRIFT_AT_REST = 10.0
# the energy exchanged: near a singular configuration the force of a drive grows without bound and is accurate to
# half the digits, and so is its work; the motion is correct. Driven parallelograms were measured at 2e-6, swings
# of 1e-3 rad at 7e-5; on another branch the velocities, and so the energy, differ completely
DRIFT_DRIVEN = 1e-3
# 1: double precision cannot reach a tighter tolerance, so the energy error is not judged by it
SMALLEST_TOLERANCE = 1e-11
# the tolerance: total error of the steps up to which the outputs of a failed run are kept
LOST_KEPT = 1e3
# steps of a buffer: a run makes no progress if at least this many steps exceeded the tolerance ...
NO_PROGRESS_STEPS = 100
# the steps of a buffer: ... and if they are at least this share of the buffer
NO_PROGRESS_SHARE = 0.9

# the length: if a driven loop has a larger gap, with a method that does not close it, the cause is diagnosed
OPEN_LOOP = 1e-3
# the length: gap between the motion that drives prescribe and the motion that joints allow; rounding is far below
CONTRADICTION = 1e-11
# 1: gaps and J w at a limit position that was found; the rounding of a double root
LIMIT_FOUND = 1e-12
# the rate that the drives prescribe: a part of it that the mechanism cannot follow
LIMIT_RATE = 1e-6

# == Kinematics: where bodies are ==

# the body's size: a smaller lever arm is the rounding of a joint at the centre
NO_ARM = 1e-12
# the best observable spins: a spin that hardly changes the vectors of a body
SHOWN_SPIN = 1e-10
# 1, the sine of an angle: parallel axes; half of the digits, which is the accuracy of the cross product of
# parallel vectors
PARALLEL_AXES = 1e-6

# == Rank of the joint equations W, scaled so that its values are of order one ==

# 1: smaller singular values are zero; joints typed to 12 digits leave zeros of about 1e-12
RANK_TOLERANCE = 1e-9
# 1: smaller singular values are zero after a step of 0.05 to a nearby configuration, where nonzero ones are of the
# order of the step; double roots leave up to 1e-7 of a zero
NEARBY_TOLERANCE = 1e-6
# a step to a nearby configuration: smaller singular values are zero there when a velocity is followed
MOVED_ZERO = 1e-4
# 1: a smallest singular value below this, but not zero, means that a singular configuration is close
NEAR_VALUE = 1e-4
# 1: gaps at a nearby configuration or on a branch that count as closed
CLOSED_NEARBY = 1e-10
# 1: closing stops at smaller gaps, because only rounding remains
CLOSED_WHOLLY = 1e-16
# the desired velocity: remainder of a desired velocity that the joints forbid
FORBIDDEN_VELOCITY = 1e-6
# the constraint violation, over the length: singular values below this many violations count as zero in the
# diagnosis of a run's end, because the violation hides a dependence
HIDDEN_BY_VIOLATION = 100.0
# the largest moment of inertia: a body with a smaller moment about its axis is a thin rod whose spin is
# independent
THIN_BODY = 1e-9
# the length: a spin with a smaller effect on the joints is an idle degree of freedom
IDLE_SPIN = 1e-9
# the largest extent: a body with a smaller one is a point
NO_REACH = 1e-9
# 1, unit vectors: components of an axis that are equal
SAME_DIRECTION = 1e-9
# 1, unit vectors: an axis this close to x, y or z is named so
WORLD_AXIS = 1e-8
# the duration: the end of the last step and the last output coincide
SAME_END = 1e-9

# == Redundancy and reactions ==

# the largest coefficient: smaller coefficients of a row in a dependence are rounding
NO_PART_IN_DEPENDENCE = 1e-7
# 1, unit vectors: a dependence is new if its component outside the span of the others is larger
SAME_SPAN = 1e-6
# a unit self-stress: a reaction component with a smaller share in every self-stress is unique
NO_PART_IN_STRESS = 1e-6
# a random probe: what remains of it where there is no self-stress. The sparse solve is regularised by 1e-10, whose
# root is 1e-5
NO_SELF_STRESS = 1e-5
# the tolerance of the rank: remainder of dependent rows if the rank is as expected
SAME_RANK = 0.1
# 1: coefficient of an independent row in a dependent one; if it is larger, other rows should be the independent
# ones, because rounding grows with it
WEAK_ORDER = 100.0
# the largest force on a body: imbalance that the joint reactions leave. A larger one is neither rounding nor the
# error of a run: the joint equations and the accelerations contradict each other
UNBALANCED = 1e-6
# the tolerance of a run: below this singular value reactions lose more than a hundredth, because they contain the
# error of the run over the smallest singular value
BLURRED_REACTION = 100.0
# the largest reaction near a crossing: a negative power of the time to the crossing with a smaller coefficient
# counts as absent
NO_POLE = 1e-6
# the largest reaction near a crossing: size of the last terms of a series about it, if the series converges
UNRESOLVED_POLE = 1e-6

# == Crossings and branches ==

# its value nearby: a local minimum of the smallest singular value below this is a near miss
NEAR_MISS = 0.02
# 1: singular values at a crossing below this are zero, whatever the tolerance of the run; the rounding of the
# crossing's time leaves as much
LEAST_ZERO = 1e-8
# 1: upper limit of that threshold, however loose the tolerance of the run
MOST_ZERO = 1e-4
# the constraint violation, over the length: singular values below this many violations count as zero at a
# crossing, because the violation hides a dependence
HIDDEN_AT_CROSSING = 10.0
# a step, or the time between samples: crossings this close are one, or coincide with the start or end of a run
SAME_CROSSING = 1e-6
# the time of the last output: an output this close to an instant is at it, neither before nor after
AT_MOMENT = 1e-10
# 1, J has entries of order one: a larger remainder of a combination of rows means that it is not a dependence
NO_COMBINATION = 1e-7
# the velocity: a velocity typed with a few digits deviates from a branch by less
ALONG_BRANCH = 1e-6
# 1, unit vectors: directions of branches that are the same; a double root is accurate to half the digits
SAME_BRANCH = 1e-3
# 1: residual of the quadratic equations of a branch at a root; at a double root the direction has half of these
# digits
BRANCH_ROOT = 1e-11
# the largest component: smaller components of a direction are not shown
SHOWN_ZERO = 1e-7

# 1: smaller Taylor coefficients of the reduced joint equations are zero, in variables in which the series stays of
# order one; configurations rounded to 1e-12 leave about 1e-11
TAYLOR_ZERO = 1e-9
# 1, of the largest root: roots of an edge of Newton's polygon that are real, or equal
SAME_ROOT_OF_EDGE = 1e-6
# 1: terms, and squared differences of roots, that are zero in the quadratic equations for the next degree of
# freedom of a branch
SAME_RAY = 1e-9
# 1: residual of joint equations that are closed at a configuration near a branch; rounding of sums of products of
# order one
BRANCH_CLOSED = 1e-13
# 1: singular values of J that are zero at such a configuration; branches that separate at a higher order than
# those examined have larger ones
BRANCH_RANK = 1e-9
# the length: a configuration further from the one whose branches were found is judged by its misfit instead
EXACT_BRANCHES = 1e-10
# 1: singular values of J close to a multiple branch that are zero on it
MULTIPLE_RANK = 1e-6
# 1, unit vectors: common directions of quadrics that are multiple; they are accurate to half the digits
MULTIPLE_RAY = 3e-5
# 1: smaller entries of null vectors, scaled to one, are rounding
SPARSE_ENTRY = 1e-9

# == Locked or mobile ==

# the length: a mechanism with a smaller dimensional mismatch counts as mobile; dimensions typed to 9 digits
MISFIT = 1e-8
# the length: a smaller mismatch is rounding, and the mechanism is mobile exactly; tested at random configurations
EXACT_MISFIT = 2e-15
# 1: a smaller singular value is almost a degree of freedom
ALMOST_FREE = 1e-2
# 1: and it is the only one if the next singular value is larger than this
FREE_ALONE = 1e-4
# 1: a smaller singular value is an instantaneous degree of freedom of the configuration
INSTANTANEOUS_DOF = 1e-13
# the length: with a larger mismatch the path ends; it is too large to be joint clearance
BLOCKED_PATH = 5e-3
# rad, or lengths: a shorter path does not count as a motion
SHORTEST_PATH = 0.6
# the length: gaps that corrected dimensions may leave
REPAIRED_GAP = 1e-13
# the largest singular value: left null vectors belong to smaller singular values
NULL_SHARE = 1e-3

# == Assembly and statics ==

# 1: gaps of joints that count as closed; the rounding of sums over a chain
CLOSED_ASSEMBLY = 1e-12
# the length: at smaller gaps the search only closes the loops, without the pull towards the start
NEARLY_CLOSED = 1e-6
# 1: singular values of dependent rows during closing; a double root closes to half the digits
DEPENDENT_ROW = 1e-7
# rad, or lengths: configurations further apart are different solutions
DIFFERENT_ANSWER = 1e-6
# the length: a solution this close to the start is the start
SAME_ANSWER = 1e-9
# all forces: smaller forces along the degrees of freedom are rounding
BALANCED = 1e-15
# all forces: imbalance that rounding may leave where further steps do not reduce it
BALANCED_ENOUGH = 1e-9
# all forces: with a larger imbalance the configuration is not an equilibrium to vibrate about
NEAR_BALANCE = 1e-6
# the sum of all parts of a stiffness: a smaller stiffness counts as zero
INDIFFERENT = 1e-9
# the forces near an equilibrium, over a typical link length: a smaller stiffness of user forces counts as zero,
# because it is a finite difference
FLAT_DIFFERENCE = 1e-7
# the forces one link length away from an equilibrium: reference force where all forces at the equilibrium vanish
LEAST_FORCE = 1e-3
# typical link lengths: equilibria this close are one; where the energy is flat to fourth order they are only as
# accurate as this
SAME_REST = 1e-4
# the length: a run from rest at a singular configuration that moves less is at an equilibrium, up to rounding
AT_REST = 1e-9
# the length: constraints that count as closed
CLOSED_STATICS = 1e-13
# the length: rounding that may remain at a dependent constraint
ALMOST_CLOSED = 1e-10
# 1, J and its derivative are of order one: a dependent equation with a larger curvature along a degree of freedom
# obstructs it
BENT = 1e-6
# 1: a smaller singular value of J is reported with the modes, which lose as many digits
NEAR_SINGULAR_MODES = 1e-5
# the eigenvalue: a smaller imaginary part is rounding
REAL_VALUE = 1e-13
# the largest eigenvalue: a smaller positive real part is rounding
STABLE = 1e-9
# the largest stiffness: a smaller difference from the transpose is rounding
SYMMETRIC = 1e-11

# == Events ==

# the tolerance of the run times the size of the quantity: values that an event does not distinguish, so that the
# error of a run neither doubles a tangent contact nor misses it
EVENT_BAND = 10.0
# in place of the tolerance for methods with a fixed step, whose polynomials are continuous by themselves: above
# the limits of their iterations, so that a constant quantity has no events
EVENT_FIXED_STEP = 1e-9
# the size of the quantity: lower limit of that band, at the tightest tolerances; some hundred roundings
EVENT_ROUNDING = 1e-13
# the time of an event: events are located to this; closer ones are simultaneous
SIMULTANEOUS = 1e-12

# == Other engines ==

# the body's largest inertia: moment of inertia given to a thin rod about its own axis for engines that do not
# accept zero; it changes the rod's spin by as little, and nothing else
SLIM = 1e-9
# the smallest mass: mass of an auxiliary frame between two elementary joints, for engines that do not accept
# massless bodies
LEAST_MASS = 1e-9
# 1, the cosine of an angle: axes of a universal joint that count as perpendicular, as Exudyn requires
RIGHT_CROSS = 1e-9
# the size of a link: a simulation whose bodies fly farther has broken down, even if its numbers are still finite
FLOWN_OFF = 1e6
# 1: constraints that appear at an event contradict others where the velocities violate them by more than this
# share
CONTRADICTED_RATE = 1e-7
# 1: an impact at one stop leaves another alone if it changes its rate by less than this share
DECOUPLED = 1e-9
# the values that an event does not distinguish: a bounce that rises less ends in rest; below 2 events would miss
# it
RESTING = 4.0

"""The numbers that decide what is zero, the same, singular, redundant, closed or locked.

One name each; above it what it is a share of (1: a pure number), and why it has its size. None (but those of
drives and couplings) is a length or a time: lengths count over that of the mechanism, angles in radians, times
over that of the run or of its samples. Rounding is 1e-16 of the numbers themselves, so what is left of a zero is
some powers of ten above that; what a person types has 6 to 12 digits.

Where no reason is given beyond a size, the number was chosen by that size, and others were not tried. Numbers that
only steer an iteration or a step stay beside it. docs/thresholds.md has the table; a test keeps it.
"""

# == Mechanisms as typed ==

# 1: numbers of a mechanism beyond this are rejected: products of six are still doubles, and no machine has any
LARGEST_NUMBER = 1e50
# the bodies' size, and rad: places and axes of a joint that are equal but for the rounding of their digits
JOINT_GAP = 1e-12
# the rod's length: as for joints, of a joint beside its rod
ON_ROD = 1e-12
# the rod's length: a joint, point or end this near to a rod was meant to be on it, and was typed with few digits
TYPED_GAP = 1e-6
# the largest value of the same unit, or one of the mechanism's own scale: curves of a page below it are rounding
CURVE_NOISE = 1e-12
# the mechanism's size: displacements below, of places that need not move, are rounding of the solve
DROPPED_MOVE = 1e-13
# the value of a joint, or m and rad below one: a motion typed with decimals that misses its joint at the
# start
DRIVE_START = 1e-9
# a given velocity: typed decimals that the joints do not quite allow
TYPED_VELOCITY = 1e-8
# the largest velocity: two motions that differ by more are two answers
SAME_VELOCITY = 1e-6

# the mechanism's size at the start: a body that has gone farther is told; linkages turn within a few sizes, what
# falls or flies goes on
FAR_AWAY = 10.0

# the mechanism's length: what a series holds through singular positions, as rounding grows there with the order.
# Double four-bars started at 0.5 to 3 m/s were off by 5e-10 in the median, 4e-9 at most, by radau 2e-12 and 5e-12
HELD_THROUGH = 1e-9
# the mechanism's length: the tightest tolerance that is followed, with more digits beside singular positions.
# States are doubles, and over 10 s through ten of these places are off by up to 1e-12
TIGHTEST_TOLERANCE = 1e-13

# weights, kinetic energy over the size, and the damper's own force: what it makes of the velocity's error is told
# from this share on; two digits of a force are what a drawing shows
NOISY_FORCE = 0.01

# == Files of other programs ==

# the mechanism's size, and rad: places and directions that are the same but for a file's own arithmetic
SAME_IN_FILE = 1e-13
# the ratio: of coupled joints, one of whole numbers but for printed digits
SAME_RATIO = 1e-9
# rad, or the mechanism's size: axes that count as parallel, at right angles or meeting
ROUGHLY_PARALLEL = 1e-6
# rad: axes of a body that are meant to be parallel or square: printed digits
MEANT_SQUARE = 1e-5
# the mechanism's size: loops open by less are bridged, and told: printed digits
BRIDGED = 1e-5

# == Model: natural coordinates ==

# the length: features of a body this close are one. A looser value would move joints, a tighter one would
# split what rounding separated
SAME_FEATURE = 1e-12
# rad: axes that are equal but for the rounding of the arithmetic that made them; more is noted
ROUNDED_AXIS = 1e-14
# rad: axes of a locked linkage that are made parallel first, to see whether it moves then: typed to 9 digits
ALIGNED_AXES = 1e-8
# a vector's length: what sticks out of the span of a frame; rounding, divided by a frame as flat as FLATTEST
SPANNED = 4e-12
# 1, the sine of an angle: vectors of a frame stand this far from the plane of the others. A flatter frame
# would cost digits, an auxiliary vector costs three coordinates
FLATTEST = 0.1
# 1, coefficients are of order one: what rounding left of a zero in a linear relation
ZERO_COEFFICIENT = 1e-12
# the vector's length: a component that rounding left of a zero
ZERO_COMPONENT = 1e-14
# 1, numbers of order one: linear forms whose factors and start differ by less are one form; rounding of a few
# products. Two forms that are not quite one would only cost time
SAME_FORM = 5e-14
# 1, numbers of order one: products of such forms that differ by less are one equation
SAME_PRODUCT = 5e-13
# its entry in M: a coordinate with less mass is treated like one without: J M^-1 J^T would be huge there and
# cost digits
LIGHT_MASS = 1e-4
# its entry in M: below rounding there is no mass at all
NO_MASS = 1e-12
# numbers of a model: another machine sums in another order
SAME_MODEL = 1e-9

# == Solving: pivots ==

# an equation's own J M^-1 J^T: what is subtracted at every equation, so that dependent ones can be solved;
# far below one, above rounding
EPS = 1e-14
# an equation's own J M^-1 J^T: one that never had a larger pivot is redundant at every configuration. Between EPS,
# which a redundant one has, and one: a pivot is the square of an angle, so swings of 1e-5 rad about a singular
# configuration show that an equation is none of these. With 1e-6 swings below 1e-3 rad were not seen as singular
PERMANENT_PIVOT = 1e-10
# an equation's own J M^-1 J^T: a redundant one has EPS, times what the dependence has of others; more means that
# it takes the part of another
RISEN_PIVOT = 1e-12
# what is usual for the equation: one that is lower gives its part to a redundant one that rises as much; pivots
# vary less than that by the motion alone, as a rule
LOWERED_PIVOT = 0.1
# an equation's own J J^T: a pivot above has been shown by a motion, not by rounding (1e-16, and its growth in the
# elimination): links that swing by 3e-7 rad
SHOWN_PIVOT = 1e-13
# what is usual for the equation: a local minimum of the pivots of steps is judged by W; near misses have 4e-4
LOW_MINIMUM = 1e-2
# an equation's own J M^-1 J^T: a smaller pivot makes EPS felt after one refinement: two are made (EPS / pivot
# squared is below rounding for pivots above)
WEAK_PIVOT = 1e-6
# an equation's own J M^-1 J^T: none depends on others where all have more, and nothing singular is near: no pivot
# has ever much more than one, and BESIDE begins at a hundredth. EPS is not needed there
REGULAR_PIVOT = 0.1
# an equation's own J M^-1 J^T: dependent on others
DEPENDENT_PIVOT = 1e-9
# an equation's own J M^-1 J^T: eps of methods with a fixed step. 1e-14 to 1e-5 were tried
# (docs/methods/multipliers.md): 1e-6 errs least
SOFT_EPS = 1e-6
# what is usual for the equation: a landing there is at a singular position, and a step from it would be
# noisy. A square: the links are at a hundredth of their usual angle
SINGULAR_LANDING = 1e-4
# what is usual for the equation: steps of derivatives by parameters end no nearer to a singular configuration if
# another end is possible. Their rounding grows with the inverse of this
CLEAR_LANDING = 3e-2
# the largest singular value of J: a direction in which it vanishes, at the time of a crossing as it was found
NULL_DIRECTION = 1e-6
# the terms of dPhi/dp: its part along a vanishing direction of J is rounding. Of single lengths it is about 1, of
# changes that keep the crossing 1e-8 and less
INTEGRABLE = 1e-6
# the derivative itself: by how much differences of neighbouring runs may miss it. What they leave of higher order
# is some percent at most; where they take another branch they miss it many times over
CONFIRMED = 0.03
# an equation's own J M^-1 J^T: a smaller pivot is rounding, EPS with what elimination adds to it, and tells no
# distance between motions
RESOLVED_PIVOT = 1e-12
# the smallest singular value of J that counts, over that where the run is regular: not lower, the rank is kept,
# whatever single pivots do; at a singular position it is the distance to it
KEPT_RANK = 0.05
# the weakest singular value of J: others below so many times it are as weak, and motions part along all of them
WEAK_TOGETHER = 10.0
# the root of the smallest pivot: how far apart motions are taken to be where J is too large for its singular
# vectors; measured 0.12 to 0.47 on double Watt linkages
UNMEASURED_DISTANCE = 0.05
# the distance between motions that touch: a series followed over a singular stretch tells them apart if it leaves
# out less
SHARP_PREDICTION = 0.1
# the same distance: a place agrees with a prediction if it is no further away, a third of the way to the other
# motion
AGREEING_PLACE = 0.3
# what is usual for the equation: accelerations there are rounding
SINGULAR_ACCELERATION = 1e-10
# what is usual for the equation: zero at the start of a run; a square, of an angle of 3e-5
SINGULAR_START = 1e-9
# the largest singular value: J at a regular position has entries of order one
DEPENDENT_VALUE = 1e-9
# the unit: a pivot of the chosen velocities below this: they are no longer independent
WEAK_CHOICE = 1e-9
# a unit vector in the mass metric: what projection leaves of a motion that is none of its own
NEW_MOTION = 1e-6
# terms of a constraint, of order one: met when what is left is their rounding
ROUND_OFF = 4e-16
# the same for wide numbers, of two doubles: what is left is their rounding
WIDE_ROUND_OFF = 1e-30
# the same: what constraints may be changed by so that a singular position is passed, or contradict each other by,
# ten times their rounding: the dimensions of which they are made have no more digits. Parallelograms, kites and
# scissors took up to 3.5e-16
MENDED_MISFIT = 4e-15
# the length: a position that moved by less on its way back onto the constraints leaves J as it was: what a factor
# of before leaves of a velocity's correction, itself about as small, is the product of both, below rounding
SAME_FACTOR = 1e-9
# the length: a constraint violated by a whole link is torn open
TORN_OPEN = 1.0
# the largest value: compiled and plain user functions may differ by the order of operations
SAME_VALUE = 1e-9
# a step: outputs this close to the end of a step are that end; times of many steps add up rounding
SAME_OUTPUT = 1e-7

# == The balance of a run: energy and losses ==

# the tolerance, of the energy exchanged: a larger drift is noted. Runs of all problems at 1e-4 to 1e-12 stay below
# 57, most below 5
DRIFT_NOTED = 100.0
# the same: far beyond it the run has left its motion. Near a singular configuration rounding
# may change the energy by 1e4 of them in one step at the default tolerance (NOISE in kernels/step_control.py);
# a correct run that starts where branches meet was measured at 1.1e4
DRIFT_FAR = 5e4
# the energy exchanged: and never more, however loose the tolerance
DRIFT_MOST = 0.1
# the energy exchanged: drift that is noted of a method with a step of a user's choice; a picture shows it
DRIFT_AT_STEP = 1e-3
# all energies that a balance is the difference of: their rounding, summed over many steps
DRIFT_ROUNDING = 1e-11
# the tolerance, of all these: places are off by it, and weights and springs do work on that; where little moves
# nothing else is exchanged. A structure whose loops close to 1e-10 was measured at 9
DRIFT_AT_REST = 10.0
# the energy exchanged: beside a singular position the force of a drive grows beyond all bounds and is known to
# half the digits, and so is its work; the motion is right. Driven parallelograms were measured at 2e-6, swings of
# 1e-3 rad at 7e-5; on another branch velocities, and so the energy, are others altogether
DRIFT_DRIVEN = 1e-3
# 1: a tighter tolerance is not held in double precision, and not judged
SMALLEST_TOLERANCE = 1e-11
# the tolerance: what steps may lose in sum before outputs of a run that fails are no longer kept
LOST_KEPT = 1e3
# steps of a buffer: so many that could not hold the tolerance ...
CRAWLING_STEPS = 100
# the steps of a buffer: ... and such a share of them: the run gets nowhere
CRAWLING_SHARE = 0.9

# the length: a driven loop that is open by more, with a method that does not close it, is asked why
OPEN_LOOP = 1e-3
# the length: gaps between what drives ask for and what the joints allow; rounding is far below
CONTRADICTION = 1e-11
# 1: gaps and J w at a limit of the mechanism that is found: the rounding of a double root
LIMIT_FOUND = 1e-12
# what the drives ask for in a second: a part of it that nothing can follow
LIMIT_RATE = 1e-6

# == Kinematics: where bodies are ==

# the body's size: an arm that is the rounding of a joint at the centre
NO_ARM = 1e-12
# the spins that show best: a spin that a body's vectors hardly show
SHOWN_SPIN = 1e-10
# 1, the sine of an angle: parallel; half of the digits, as the cross product of parallel vectors has
PARALLEL_AXES = 1e-6

# == Rank of the joint equations W, scaled so that its values are of order one ==

# 1: values below are zero; joints typed to 12 digits leave zeros of about 1e-12
RANK_TOLERANCE = 1e-9
# 1: zero after a step of 0.05 to a position nearby, where what counts is of the order of the step; what
# double roots leave of a zero is up to 1e-7
NEARBY_TOLERANCE = 1e-6
# a step to a position nearby: values below are zero there when a velocity is followed
MOVED_ZERO = 1e-4
# 1: a smallest value below, though above zero, is a singular position close by
NEAR_VALUE = 1e-4
# 1: gaps of a position nearby or on a branch: closed
CLOSED_NEARBY = 1e-10
# 1: gaps below which closing is not continued: nothing is left but rounding
CLOSED_WHOLLY = 1e-16
# the wish: what joints leave of a wished velocity that they forbid
FORBIDDEN_WISH = 1e-6
# the violation, over the length: of a dependence that it hides in the verdict on a run's end
HIDDEN_BY_VIOLATION = 100.0
# the largest moment of inertia: a body this thin has a spin of its own
THIN_BODY = 1e-9
# the length: a spin with less effect on the joints is idle
IDLE_SPIN = 1e-9
# the largest reach: a body without extent
NO_REACH = 1e-9
# 1, unit vectors: parts of an axis that are equal
SAME_DIRECTION = 1e-9
# 1, unit vectors: an axis that is called x, y or z
WORLD_AXIS = 1e-8
# the duration: the end of the last step and the last output are the same
SAME_END = 1e-9

# == Redundancy and reactions ==

# the largest part: a row's part in a dependence that is rounding
NO_PART_IN_DEPENDENCE = 1e-7
# 1, unit vectors: what a further dependence adds to the span of others, if it is new
SAME_SPAN = 1e-6
# a unit self-stress: a component with a smaller part in it is unique
NO_PART_IN_STRESS = 1e-6
# a random probe: what is left of it where there is no self-stress. The sparse solve is regularised by 1e-10,
# whose root is 1e-5
NO_SELF_STRESS = 1e-5
# the tolerance of the rank: what is left of dependent rows, if the rank is the one that was expected
SAME_RANK = 0.1
# 1: a dependent row's share of an independent one; beyond, other rows should stand for the independent ones, as
# rounding grows with it
WEAK_ORDER = 100.0
# the largest force on a body: what joints leave of it. More is neither rounding nor the error of a run: the joint
# equations and the accelerations contradict each other there
UNBALANCED = 1e-6
# the tolerance of a run: reactions have its errors over the smallest singular value, so below this a hundredth of
# them is lost
BLURRED_REACTION = 100.0
# the largest reaction near a crossing: a negative power of the time to it with a smaller share is none
NO_POLE = 1e-6
# the largest reaction near a crossing: what the last terms of a series about it leave, if it converges
UNRESOLVED_POLE = 1e-6

# == Crossings and branches ==

# what it is nearby: a smallest value below makes a near miss
NEAR_MISS = 0.02
# 1: values at a crossing are zero below, whatever the run's tolerance: the rounding of its time leaves so
# much
LEAST_ZERO = 1e-8
# 1: and never above, however loose the run is
MOST_ZERO = 1e-4
# the violation, over the length: of a dependence that it hides at a crossing
HIDDEN_AT_CROSSING = 10.0
# a step, or the time between samples: crossings this close are one, or at the start or end of a run
SAME_CROSSING = 1e-6
# the time of the last output: an output this close to a moment is at it, neither before nor behind
AT_MOMENT = 1e-10
# 1, J has entries of order one: a row's part in a combination that is no dependence
NO_COMBINATION = 1e-7
# the velocity: one typed with some digits misses a branch by less
ALONG_BRANCH = 1e-6
# 1, unit vectors: directions of branches that are the same; a double root is found to half the digits
SAME_BRANCH = 1e-3
# 1: what the quadratic equations of a branch leave at a root; at a double root the direction has half of
# these digits
BRANCH_ROOT = 1e-11
# the largest component: not shown in a direction
SHOWN_ZERO = 1e-7

# 1: Taylor coefficients of the reduced joint equations that are zero, in variables in which the series stays of
# order one; configurations rounded to 1e-12 leave some 1e-11
TAYLOR_ZERO = 1e-9
# 1, of the largest root: roots of an edge of Newton's polygon that are real, or the same
SAME_ROOT_OF_EDGE = 1e-6
# 1: quadratic equations for the next freedom of a branch: terms, and squared differences of roots, that are zero
SAME_RAY = 1e-9
# 1: joint equations at a configuration near a branch that are closed: rounding of sums of products of order one
BRANCH_CLOSED = 1e-13
# 1: singular values of J at such a configuration that are zero; branches that part later than any order looked at
# have more
BRANCH_RANK = 1e-9
# the length: a configuration further from the one whose branches were found is judged by its misfit instead
EXACT_BRANCHES = 1e-10
# 1: singular values of J close to a multiple branch that are zero on it
MULTIPLE_RANK = 1e-6
# 1, unit vectors: common directions of quadrics that are multiple; these are found to half the digits
MULTIPLE_RAY = 3e-5
# 1: entries of null vectors, scaled to one, that are rounding
SPARSE_ENTRY = 1e-9

# == Locked or mobile ==

# the length: a misfit that counts as mobile: dimensions typed to 9 digits
MISFIT = 1e-8
# the length: a misfit that is rounding: mobile in truth; tested at random places
EXACT_MISFIT = 2e-15
# 1: a singular value below is almost a freedom
ALMOST_FREE = 1e-2
# 1: and it is the only one if the next value is above this
FREE_ALONE = 1e-4
# 1: a value below is a freedom here, for an instant at least
INSTANT_FREEDOM = 1e-13
# the length: a larger misfit is no play any more, the path ends
BLOCKED_PATH = 5e-3
# rad, or lengths: a shorter path is no motion
SHORTEST_PATH = 0.6
# the length: gaps that mended dimensions may leave
MENDED = 1e-13
# the largest value: left null vectors belong to values below
NULL_SHARE = 1e-3

# == Assembly and statics ==

# 1: gaps of joints that are closed: the rounding of sums over a chain
CLOSED_ASSEMBLY = 1e-12
# the length: a gap from which closing alone goes on, without the pull towards the start
NEARLY_CLOSED = 1e-6
# 1: singular values of dependent rows while closing: a double root closes to half the digits
DEPENDENT_ROW = 1e-7
# rad, or lengths: poses further apart are different answers
DIFFERENT_ANSWER = 1e-6
# the length: an answer this close to the start is the start
SAME_ANSWER = 1e-9
# all forces: those along the freedoms that count as none; rounding
BALANCED = 1e-15
# all forces: what rounding may leave where steps no longer help
BALANCED_ENOUGH = 1e-9
# all forces: further from balance is no equilibrium to vibrate about
NEAR_BALANCE = 1e-6
# the sum of all parts of a stiffness: counts as none
INDIFFERENT = 1e-9
# the forces near a rest, over a typical link: stiffness of user forces that counts as none; it is a difference
FLAT_DIFFERENCE = 1e-7
# the forces a link away from a rest: those at it count as this where all of them vanish
LEAST_FORCE = 1e-3
# typical links: equilibria this close are one; where the energy is flat of fourth order they are found so well
SAME_REST = 1e-4
# the length: constraints that are closed
CLOSED_STATICS = 1e-13
# the length: what rounding may leave at a dependent constraint
ALMOST_CLOSED = 1e-10
# 1, J and its derivative are of order one: a dependent equation that bends along a freedom
BENT = 1e-6
# 1: a smallest singular value of J below is said with the modes: they lose as many digits
NEAR_SINGULAR_MODES = 1e-5
# the eigenvalue: an imaginary part that is rounding
REAL_VALUE = 1e-13
# the largest eigenvalue: a real part that grows by no more is rounding
STABLE = 1e-9
# the largest stiffness: a difference from its transpose that is rounding
SYMMETRIC = 1e-11

# == Events ==

# the tolerance of the run times the size of the quantity: values that an event does not tell apart, so that the
# error of a run makes neither two events nor none of a tangent contact
EVENT_BAND = 10.0
# the size of the quantity: the smallest such difference, at the tightest tolerances; some hundred roundings
EVENT_ROUNDING = 1e-13

# == Other engines ==

# the body's largest inertia: what a thin rod gets about its own axis, where no engine takes zero; its spin is
# changed by as little, and nothing else
SLIM = 1e-9
# the smallest mass: what a frame between two steps of a joint gets, where an engine takes no body without mass
LEAST_MASS = 1e-9
# 1, the cosine of an angle: axes of a cross that count as being at right angles, as Exudyn wants them
RIGHT_CROSS = 1e-9
# the size of a link: what flies off by more has broken down, even if its numbers are still finite
FLOWN_OFF = 1e6

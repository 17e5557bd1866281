"""Constants shared by Python and the kernels. They are kinds, columns of packed rows, rules and workspace sizes.

Packing in Python writes rows of numbers and kernels read them; both take the meaning of a column from here. This module
imports nothing, so that packing need not wait for Numba. A kernel freezes these numbers when it is compiled, and the
stamp of its cache covers this file: changing a number compiles every kernel again.

Names of columns begin with what a row describes (FK_, PATH_, NODE_, ...); names that end in _ROW or _SETTINGS say how
many numbers a row has. What the arrays are for stands in the module that a group names. The rows of a live frame, which
only the grounder reads, stand in kernels/ground/grounder_walk.py.
"""

from __future__ import annotations

import math

# --- how a joint, a node of a tree or a link of a chain moves ---------------------------------------------------------

FIXED, HINGE, SLIDE, BALL = 0, 1, 2, 3
FREE = 4  # a joint of a skeleton that turns like a ball and moves along all three axes
MOVE = 4  # a node or link that only moves along all three axes: a free joint is packed as a MOVE and a BALL

# --- what a goal measures of its joint, a "term" ----------------------------------------------------------------------

POSITION, ROTATION, DIRECTION, AIM, POLE = 0, 1, 2, 3, 4

# --- what has no length: both sides of a formula must agree on where it degenerates -----------------------------------

STRAIGHT = 1e-6  # of a limb's length: a line, bend or way to a pole that is shorter has no direction
SAME = 1e-24  # of the squared lengths of two points: a squared distance below is rounding, the points are one
TINY = 1e-150  # what a length is divided by at least; its square is still a number
UNIT_SLACK = 1e-12  # a squared length this near to one is one to rounding: dividing would change bits that were given
NO_LEVERAGE = 1e-14  # of a chain's or tree's size squared: a hinge moves what it turns neither to a target nor away
ROUNDING = 1e-9  # of a tolerance: what is this little beyond it counts as reached

# --- limits of balls (b, LIMIT): model/limits/base/rows.py, kernels/limits.py -------------------------------

LIMIT = 14  # numbers in a row
LIMIT_KIND = 0  # one of the four below
LIMIT_FRAME = 1  # w x y z of the frame whose axes the angles are measured about
LIMIT_BOUNDS = 5  # lowest and highest of three angles [rad]; of a swing and twist: x, y, twist. RANGE: of one number
LIMIT_SOFT = 11  # weight of a soft limit; 0 of a hard one
LIMIT_TANGENTS = 12  # of half the lowest and highest twist, a little inside; 1, -1 where they would be too large
NO_LIMIT, SWING_TWIST, EULER_BOX, RANGE = 0.0, 1.0, 2.0, 3.0
SLACK = 1e-12  # [rad] a rotation this near to legal is left alone, so that what was moved inside stays where it is
WIDEST_SWING = math.pi - 5e-3  # of what is moved inside: closer to half a turn its twist is lost, and it would not stay
ELLIPSE_STEPS = 20  # most steps of Newton's method to the nearest point of an ellipse; it takes four to seven
BOX_SWEEPS = 8  # most rounds over the angles of a box; it takes one to four

# --- forward kinematics (r, FK_ROW): model/kinematics.py, kernels/kinematics.py

FK_ROW = 41
FK_KIND, FK_PARENT, FK_START, FK_RATIO, FK_SHIFT = 0, 1, 2, 3, 4  # kind, 1 + row of the parent, first number, coupling
FK_STILL, FK_SINE, FK_COSINE = 5, 17, 29  # twelve numbers of an affine map each, row by row
FK_AFTER = FK_COSINE  # of a ball or free joint, which has no cosine: 0 where B is the identity
JACOBIAN_ROW = 13  # of the rows that only Jacobians need, kernels/kinematics.py
JACOBIAN_FIRST, JACOBIAN_ORIGIN, JACOBIAN_WAYS = 0, 1, 4  # first column of the Jacobian, A's translation, three axes

# --- the judge's paths (r, PATH_ROW), what is asked of their ends (c, MEASURE_ROW): problem/measuring, kernels/goal_errors.py

PATH_ROW = 23
PATH_KIND, PATH_AXIS = 0, 1  # how the joint moves, and its axis
PATH_OFFSET, PATH_TURN = 4, 7  # A: x y z and w x y z
PATH_START, PATH_RATIO, PATH_SHIFT = 11, 12, 13  # first number, and the coupling: value = ratio number + shift
PATH_AFTER = 14  # 1 where B is not the identity: then
PATH_AFTER_OFFSET, PATH_AFTER_TURN, PATH_FACTOR = 15, 18, 22  # B: x y z, w x y z and its uniform scale
ASK_ROW = 8
ASK_KIND, ASK_COLUMN = 0, 1  # kind of term, and its first column in a target
ASK_VECTOR = (
    2  # DIRECTION, AIM: the joint's axis; POLE: rows that lead to the limb's first joint and the one that bends
)
ASK_POINT = 5  # POSITION, AIM: a point in the joint's frame

# --- how joints go from one configuration towards another (j, PACE_ROW): solving/frames/pace.py, kernels/approach.py

PACE_ROW = 8
PACE_KIND = (
    0  # a HINGE takes the shorter way round, a SLIDE goes straight (so does a hinge that leads); MOVE; BALL; BENT
)
PACE_COLUMN, PACE_SPEED = 1, 2  # the first of its numbers in q; most in a second, or infinity
PACE_LOW, PACE_HIGH = 3, 4  # range of a HINGE or BENT
PACE_AXIS = 5  # of a BENT
BENT = 5  # another kind: a ball that a range makes a hinge

# --- a tree of motions: problem/packed.py, kernels/tree/arrays.py -----------------------------------------------------

NODE_PARENT, NODE_MOTION, NODE_AT, NODE_DOF = 0, 1, 2, 3  # parent or -1, kind, first of its numbers, first of its dofs
DOF_LOW, DOF_HIGH, DOF_NUMBER, DOF_EASE = 0, 1, 2, 3  # range, number in u or -1, share of a step that it takes
TERM_KIND, TERM_NODE, TERM_ROW, TERM_WANTED = 0, 1, 2, 3  # kind, node, first row of the residual, first of a target
TERM_WAY, TERM_WAY_END = 4, 5  # its stretch of the paths
TERM_FIRST, TERM_MIDDLE, TERM_FIRST_END, TERM_MIDDLE_END = 6, 7, 8, 9  # POLE: two nodes, and the ends of their paths
AIM_AXIS, AIM_SHARED = 3, 6  # AIM: a unit vector; 1 where all joints of the path share the turn. Before: a point
AIM_WEIGHT, AIM_TOLERANCE = 7, 8
AIM_MIDDLE_POINT, AIM_FIRST_POINT = 9, 12  # POLE: the joint that bends, and the limb's first, in their nodes' frames

# --- settings of the damped engine on a tree: solvers/base/engine.py, kernels/tree/many.py ----------------------------

TREE_SETTINGS = 6
TREE_FACTOR, TREE_FLOOR = 0, 1  # damping = FACTOR |e|^2 + FLOOR
TREE_ITERATIONS, TREE_RESTARTS = 2, 3  # most iterations of one attempt; most further attempts
TREE_POLISH = 4  # iterations that settle the best of all attempts where none met the goals
TREE_PULL = 5  # share of the way to the preferred configuration that a step would like to go; 0: there is none

# --- the Jacobian methods on a tree: solvers/base/jacobian.py, kernels/tree/steps.py ----------------------------------

METHOD_SETTINGS = 9
METHOD_RULE, METHOD_NUMERIC = 0, 1  # one of the rules below; 1 for a Jacobian by finite differences
METHOD_ITERATIONS, METHOD_RESTARTS = 2, 3  # most steps of all attempts together; most further attempts
METHOD_PATIENCE = 4  # steps without progress that end an attempt
METHOD_BEND, METHOD_MAX_TURN = (
    5,
    6,
)  # [rad] first bend of a chain that is stuck straight; most that a step turns a joint
METHOD_FIRST, METHOD_SECOND = 7, 8  # two settings of the rule
ADAPTIVE = 0  # transpose; the factor to begin with; by what it grows and shrinks
OPTIMAL = 1  # transpose; no settings
PSEUDO_INVERSE = 2  # smallest singular value that counts, of the largest
DAMPED = 3  # damping; damping per squared error
SELECTIVE = 4  # most that a singular direction may turn a joint [rad]

# --- a serial arm: problem/arm.py, kernels/arm_lm.py and many.py --------------------------------------------------

LONG_WAY = 16.0  # joints on the way to a goal; with more, turns are smaller and damping is larger, in proportion
LARGEST_ARM = 16  # most links, which kernels keep on the stack: a longer chain is a tree, see LONG_PATH_JOINTS
ARM_LINK = 10  # numbers of a link: x y z, w x y z, then
ARM_LOW, ARM_HIGH, ARM_SLIDES = 7, 8, 9  # lowest and highest value; 1 for a slide, 0 for a hinge
ARM_SETTINGS = 13
ARM_DISTANCE, ARM_ANGLE = 0, 1  # squares of what counts as reached: kernel units, and 2 sin(angle / 2)
ARM_WEIGHTS = 2  # two: of position and rotation
ARM_FACTOR, ARM_FLOOR = 4, 5  # damping = FACTOR |e|^2 + FLOOR
ARM_ITERATIONS, ARM_RESTARTS = 6, 7  # most iterations of one attempt; most further attempts
ARM_CANDIDATES, ARM_MOST_CANDIDATES = 8, 16  # seeds to choose from at a restart: a multiple of lanes, this many at most
ARM_SHORTEST, ARM_LONGEST = 9, 10  # distance of the tip from the first link: outside, few restarts are worth their time
ARM_POLISH = 11  # iterations that settle the best of all attempts where none reached the target
ARM_RACE = 12  # 1 where the attempt that arrives first is to win a lone problem

# --- targets of an arm: problem/arm.py, kernels/arm_targets.py. Where things stand in `layout` ------------------------

REACH_LINKS, REACH_SEEDS, REACH_ROWS, REACH_MEASURES, REACH_USED, REACH_NQ = 0, 1, 2, 3, 4, 5  # how many there are
REACH_AT_LINKS, REACH_AT_SEEDS, REACH_AT_POSES, REACH_AT_SETTINGS, REACH_AT_UNIT = 6, 7, 8, 9, 10  # starts in `numbers`
REACH_AT_GAINS, REACH_AT_RANGES, REACH_AT_TABLE, REACH_AT_ASKS, REACH_AT_ALLOWED = 11, 12, 13, 14, 15
REACH_COLUMNS, REACH_TURNS, REACH_SPANS, REACH_USES = 16, 17, 18, 19  # starts in `layout` itself
REACH_WIDTH = 20  # numbers of a target: 3, 4 or 7
REACH_HEAD = 21  # how many numbers come before the lists
REACH_WORK = 2048  # float64 of scratch on the kernel's stack: what needs more takes the long way
REACH_EACH = 11  # float64 for each target, and two for each link: its place, two rows of values, an error, three counts
REACH_LONE = REACH_EACH + 2 * LARGEST_ARM  # the most that one target needs
REACH_TOLD = 4  # behind each answer what is told of it: iterations, attempts, whether it is met, weighted squared error
UNREADABLE, OUTSIDE = -1, -2  # answers of the kernel: the target cannot be used; the start leaves its limits

# --- limbs of two bones: problem/limb.py, problem/limb_posed.py, kernels/limb -----------------------------------------

LIMB_ROW, LIMB_SETTINGS, PLANE_ROW = 78, 8, 37
LIMB_WORK = LIMB_ROW + 23  # scratch in values of each lane: a row, a target (7), a pole (3) and an answer (13)
# Of a figure's limb, where it bends by itself: kernels/limb/bends.py, solvers/natural/limbs.py. Five directions, the
# first two and the last in the frame of the body, the others in that of the tip; how much those count; the limb's
# length, that of its first bone, and how far its middle stands off its line because the rig is built so. SIDE_UP is
# zero for a limb whose middle may stand above both its ends.
SIDE_ALONG, SIDE_BEND, SIDE_STRAIGHT, SIDE_AHEAD, SIDE_UP = 0, 3, 6, 9, 12
SIDE_STRAIGHT_GAIN, SIDE_AHEAD_GAIN, SIDE_LENGTH, SIDE_UPPER, SIDE_BUILT_IN, SIDE_ROW = 15, 16, 17, 18, 19, 20
BEND_LEAST, BEND_THIGH, BEND_AXIS = 0.0, 1.0, 2.0  # the turn about the chord: least, by the thigh, by the middle axis
# What no pose changes of a limb, kernels/limb/posed.py: first of all where the maps stand that the first joint, the
# middle one and the tip's hang in, and the tip's own, among those given; -1 is the world
POSED_MAPS = 0  # four
POSED_HINGE, POSED_TURNS, POSED_BRANCH = 4, 5, 6  # the middle joint is a hinge; the tip's turns; side to bend to, or 0
POSED_THIGH, POSED_SHIN = 7, 8  # what of their directions the middle joint is wanted along
POSED_JOINTS = 9  # three rows of POSED_JOINT: first joint, middle joint, tip
POSED_JOINT = 16
POSED_ANGLED, POSED_COLUMN = 0, 1  # 1: q has the joint's angle, 0: its rotation; where that stands in q
POSED_MOVES, POSED_GIVEN = 2, 3  # where its translation stands in q, or -1; its place among the rows that are given
POSED_OFFSET, POSED_TURN, POSED_AXIS, POSED_RANGE = 4, 7, 11, 14  # A: x y z and w x y z; of a hinge: axis, range

# --- chains from joint to joint: problem/chain.py, kernels/chain ------------------------------------------------------

CHAIN_AIM = 10  # numbers of what a chain's tip aims with: a point, a rotation w x y z, a unit vector
CHAIN_POINT, CHAIN_TURN, CHAIN_AXIS = 0, 3, 7
TIP_FIRST, BASE_FIRST, WINDOW = 0, 1, 2  # orders of CCD; WINDOW: the last joint, the last two, ... from the tip
EXACT, PROJECT = 0, 1  # how CCD turns a hinge: to its best angle, or a ball's turn projected onto the axis

"""Columns, row lengths and codes of packed arrays.

Python packs rows of numbers and kernels read them; both use the column numbers defined here. This module imports no
Numba, so that packing does not wait for it. A kernel freezes these numbers when it is compiled, and its cache stamp
covers this file: a change makes the library rebuild the kernels that read it.

A joint's transform is A . motion . B: A is the rest transform from the parent, B a constant one after the motion. A
term is one measured quantity of a goal, a node one joint of the packed tree.

Column names start with the kind of row (FK_, PATH_, NODE_, ...); names ending in _ROW or _SETTINGS are the row lengths.
Numerical thresholds are in kernels/thresholds.py.
The heading of each group names the modules that document its arrays. Rows of a live frame, read by the grounder only,
are defined in kernels/ground/grounder_walk.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# --- kinds of joints, tree nodes and chain links ----------------------------------------------------------------------

FIXED, HINGE, SLIDE, BALL = 0, 1, 2, 3
FREE = 4  # joint of a skeleton: a ball that also translates along three axes
MOVE = 4  # node or link that translates along three axes; a free joint is packed as MOVE and BALL

# --- goal terms: the measured quantity of a joint ---------------------------------------------------------------------

POSITION, ROTATION, DIRECTION, AIM, POLE = 0, 1, 2, 3, 4

# --- limits of balls (b, LIMIT_ROW): model/limit_bounds.py, kernels/limits.py -------------------------------------

LIMIT_ROW = 14  # numbers of a row
LIMIT_KIND = 0  # one of the four kinds below
LIMIT_FRAME = 1  # w x y z of the frame in which the angles are measured
LIMIT_BOUNDS = 5  # first of six bounds [rad]: min and max of three values
# SWING_TWIST: swing about x and y, twist about z; EULER_BOX: angles about x, y and z; RANGE: its one value in X
LIMIT_X_LOW, LIMIT_X_HIGH = 5, 6
LIMIT_Y_LOW, LIMIT_Y_HIGH = 7, 8
LIMIT_Z_LOW, LIMIT_Z_HIGH = 9, 10
LIMIT_SOFT_WEIGHT = 11  # weight of a soft limit; 0: hard
LIMIT_LOW_TANGENT = 12  # tangent of half the min twist, slightly inside; 1: too large
LIMIT_HIGH_TANGENT = 13  # the same of the max twist; -1: too large
NO_LIMIT, SWING_TWIST, EULER_BOX, RANGE = 0.0, 1.0, 2.0, 3.0

# --- forward kinematics (r, FK_ROW): model/kinematics.py, kernels/kinematics.py ---------------------------------------

FK_ROW = 41
# Kind; 1 + row of the parent; first number of the joint, and its coupling: value = ratio number + offset.
FK_KIND, FK_PARENT, FK_Q_START, FK_COUPLING_RATIO, FK_COUPLING_OFFSET = 0, 1, 2, 3, 4
FK_CONSTANT, FK_SINE, FK_COSINE = 5, 17, 29  # twelve numbers of an affine map each, row by row
FK_HAS_POST_TRANSFORM = FK_COSINE  # of a ball or free joint, which has no cosine: 0 where B is the identity
JACOBIAN_ROW = 13  # numbers of a row
JACOBIAN_FIRST_COLUMN, JACOBIAN_ORIGIN, JACOBIAN_AXES = 0, 1, 4  # first column, A's translation, three axes

# --- joint paths (r, PATH_ROW) and measures at their ends (c, MEASURE_ROW): kernels/goal_errors.py -------------------

PATH_ROW = 23
PATH_KIND, PATH_AXIS = 0, 1  # kind of the joint, and its axis
PATH_OFFSET, PATH_ROTATION = 4, 7  # A: x y z and w x y z
PATH_Q_START, PATH_COUPLING_RATIO, PATH_COUPLING_OFFSET = 11, 12, 13  # first number, and its coupling
PATH_HAS_POST_TRANSFORM = 14  # 1 where B is not the identity
PATH_POST_OFFSET, PATH_POST_ROTATION, PATH_POST_SCALE = 15, 18, 22  # B: x y z, w x y z and uniform scale
MEASURE_ROW = 8
MEASURE_WORK_SIZE = 7  # numbers of scratch memory a lane for measuring, besides the used columns of q
MEASURE_KIND, MEASURE_TARGET_START = 0, 1  # kind of term, and its first column in a target
MEASURE_VECTOR = 2  # DIRECTION, AIM: the joint's axis; POLE: path lengths of the limb's first joint and middle joint
MEASURE_POINT = 5  # POSITION, AIM: point in the joint's frame

# --- measures in world maps (c, WORLD_MEASURE_ROW): problem/world_measures.py, kernels/world_errors.py ----------------

WORLD_MEASURE_ROW = 26
WORLD_KIND, WORLD_TARGET_START, WORLD_MAP = 0, 1, 2  # kind of term, its first column in a target, row of the table
WORLD_VECTOR = 3  # DIRECTION, AIM: the joint's axis; POLE: rows of the table of the limb's first joint and middle joint
WORLD_POINT = 6  # POSITION, AIM: point in the joint's frame
WORLD_REFERENCE = 9  # row of the table of a relative goal's reference, or -1
WORLD_SET_KIND, WORLD_AXES_START = 10, 11  # kind of set; column of the target's rotation, or -1
WORLD_SET = 12  # a set as in EFFECTOR_SET; boxes in units of the target

# --- targets of relative goals and boxes (s, SET_TARGET_ROW): problem/set_targets.py, kernels/kernel_coordinates.py ---

SET_TARGET_ROW = 23
# Kind of term, first number in world targets and in kernel targets; column of the rotation of a box's target in world
# targets (-1: none), first number of the box's axes in kernel targets (-1: no box).
SET_TERM_KIND, SET_WORLD_COLUMN, SET_KERNEL_COLUMN, SET_WORLD_AXES, SET_KERNEL_AXES = 0, 1, 2, 3, 4
SET_IS_RELATIVE = 5  # 1 where the target is in the frame of a reference
SET_REFERENCE = 6  # a row of references, see problem/frame_packing.py
REFERENCE_ROW = 17
REFERENCE_ORIGIN, REFERENCE_ROTATION, REFERENCE_SCALE = 9, 12, 16  # after a 3 x 3 map: point, w x y z, scale

# --- speed-limited motion of joints (j, SPEED_LIMIT_ROW): solving/tracker.py, kernels/speed_limited_motion.py ---------

SPEED_LIMIT_ROW = 8
SPEED_LIMIT_KIND = 0  # HINGE: shorter direction; SLIDE (also a leading hinge): straight; MOVE; BALL; hinged ball
SPEED_LIMIT_Q_START, SPEED_LIMIT_MAX_SPEED = 1, 2  # first column in q; maximum speed per second, or infinity
SPEED_LIMIT_LOW, SPEED_LIMIT_HIGH = 3, 4  # range of a HINGE or hinged ball
SPEED_LIMIT_AXIS = 5  # of a hinged ball
HINGED_BALL = 5  # additional kind: a ball reduced to a hinge by a range

# --- a tree of motions: problem/plan.py, kernels/problem_arrays.py ----------------------------------------------------

FRAME_ROW = 9  # numbers of a frame
EFFECTOR_ROW = 29  # numbers of an effector
FRAME_OFFSET, FRAME_ROTATION = 0, 3  # x y z and w x y z, from the parent's frame after its motion to this one
FRAME_RATIO, FRAME_VALUE_OFFSET = 7, 8  # value of a hinge or slide = ratio u + offset
DOF_LOW, DOF_HIGH, DOF_U_COLUMN, DOF_WEIGHT = 0, 1, 2, 3  # range, number in u or -1, weight of its step
# POLE: two nodes and their path ends
TERM_FIRST_NODE, TERM_MIDDLE_NODE, TERM_FIRST_PATH_END, TERM_MIDDLE_PATH_END = 6, 7, 8, 9
TERM_ROW = 15
# Node of a relative goal's reference (-1: none), range of its path; kind of the set; first number of the box's axes in
# a target.
TERM_REFERENCE_NODE, TERM_REFERENCE_PATH_START, TERM_REFERENCE_PATH_END = 10, 11, 12
TERM_SET_KIND, TERM_AXES_START = 13, 14
NO_SET, TARGET_BOX, JOINT_BOX, TURN_SET = 0, 1, 2, 3  # kinds of sets: a box with the axes of the target or the joint
EFFECTOR_POINT = 0  # point x y z; DIRECTION: unit vector
EFFECTOR_ROTATION = 3  # ROTATION: w x y z
EFFECTOR_AXIS, EFFECTOR_IS_SHARED = 3, 6  # AIM: unit axis; 1 where all path joints share the rotation
EFFECTOR_WEIGHT, EFFECTOR_TOLERANCE2 = 7, 8  # weight; squared tolerance: kernel units, or 2 sin(angle / 2)
EFFECTOR_MIDDLE_POINT, EFFECTOR_FIRST_POINT = 9, 12  # POLE: middle and first joint of the limb, in their nodes' frames
EFFECTOR_SET = 15  # first number of a set: three pairs of lowest and highest value of a box, or a LIMIT_ROW of a turn

# --- bones of a tree (b, 2): solvers/fabrik.py, kernels/fabrik_tree.py ------------------------------------------------

BONE_END_KIND, BONE_END_INDEX = 0, 1  # kind of the bone's end, and its number among the nodes or terms
NODE_END, TERM_END = 0, 1  # kinds of an end: the next node, or the point of a goal

# --- results of a problem: counts (k, 2 | 3) and outcomes (k, 2) ------------------------------------------------------

COUNT_ITERATIONS = 0
COUNT_JOINT_STEPS = 1  # of chains and FABRIK: steps of single joints
COUNT_ATTEMPTS = 1  # of arms and trees: attempts, the first one included
COUNT_IS_MET = 2  # 1 where the goals are met; chains have it in their outcome
OUTCOME_ERROR, OUTCOME_HAS_MOVED = 0, 0  # of a chain: the error; of a limb: whether it has moved
OUTCOME_IS_MET = 1  # 1 where the goals are met
IS_FAR = -1.0  # there, of a chain: the target is beyond reach and left to a closed form

# --- conversion to kernel coordinates: problem/plan.py, problem/chain.py, kernels/kernel_coordinates.py ---------------

Q_COLUMN, U_COLUMN = 0, 1  # a pair of columns with the same numbers in q and u
HINGED_BALL_ROW = 7  # numbers of a ball limited to one axis
HINGED_BALL_AXIS, HINGED_BALL_LOW, HINGED_BALL_HIGH = 0, 3, 4  # its axis and range
HINGED_BALL_SOFT_LOW, HINGED_BALL_SOFT_HIGH = 5, 6  # soft range; low above high: none
# A hinge whose range allows whole turns: its column in q, and its range.
TURNING_HINGE_COLUMN, TURNING_HINGE_LOW, TURNING_HINGE_HIGH = 0, 1, 2

# --- settings of the damped engine on a tree: solvers/base/lm_engine.py, kernels/tree_lm.py ---------------------------

TREE_SETTINGS = 6
TREE_DAMPING_FACTOR, TREE_DAMPING_FLOOR = 0, 1  # damping = factor |e|^2 + floor
TREE_ITERATIONS, TREE_RESTARTS = 2, 3  # maximum iterations of one attempt; maximum restarts
TREE_POLISH_ITERATIONS = 4  # polish iterations of the best attempt where none met the goals
TREE_PREFERENCE_SHARE = 5  # fraction of the distance to the preferred configuration per step; 0: no preference

# --- the Jacobian methods on a tree: solvers/base/jacobian_method.py, kernels/jacobian_methods.py ---------------------

METHOD_SETTINGS = 9
METHOD_RULE, METHOD_IS_NUMERIC = 0, 1  # one of the rules below; 1: Jacobian by finite differences
METHOD_ITERATIONS, METHOD_RESTARTS = 2, 3  # maximum steps of all attempts together; maximum restarts
METHOD_PATIENCE_STEPS = 4  # steps without progress before an attempt ends
# [rad] initial bend of a straight chain; maximum joint rotation in one step
METHOD_INITIAL_BEND, METHOD_MAX_ROTATION = 5, 6
METHOD_FIRST_SETTING, METHOD_SECOND_SETTING = 7, 8  # two settings of the rule
# Step rules, and their two settings:
RULE_ADAPTIVE_TRANSPOSE = 0  # initial gain; factor by which the gain grows or shrinks
RULE_OPTIMAL_TRANSPOSE = 1  # no settings
RULE_PSEUDO_INVERSE = 2  # smallest singular value used, as a fraction of the largest
RULE_DAMPED = 3  # damping; damping per squared error
RULE_SELECTIVELY_DAMPED = 4  # maximum joint rotation of one singular direction [rad]

# --- a serial arm: problem/arm_packing.py, kernels/arm_lm.py ----------------------------------------------------------

MAX_ARM_LINKS = 16  # maximum links of an arm, kept on the stack; longer chains are solved as trees
ARM_LINK_ROW = 10  # numbers of a link: x y z, w x y z, and the three below
ARM_LOW, ARM_HIGH, ARM_IS_SLIDE = 7, 8, 9  # range; 1 for a slide, 0 for a hinge
ARM_SETTINGS = 13
ARM_DISTANCE_TOLERANCE2, ARM_ANGLE_TOLERANCE2 = 0, 1  # squared tolerances: kernel units, and 2 sin(angle / 2)
ARM_WEIGHTS = 2  # two weights: position and rotation
ARM_DAMPING_FACTOR, ARM_DAMPING_FLOOR = 4, 5  # damping = factor |e|^2 + floor
ARM_ITERATIONS, ARM_RESTARTS = 6, 7  # maximum iterations of one attempt; maximum restarts
ARM_CANDIDATE_COUNT = 8  # seeds compared at a restart, a multiple of the lanes
MAX_ARM_CANDIDATES = 16  # largest number of them
ARM_MIN_REACH, ARM_MAX_REACH = 9, 10  # reach of the tip from the first link; outside it, few restarts are made
ARM_POLISH_ITERATIONS = 11  # polish iterations of the best attempt where none reached the target
ARM_FIRST_FINISH_WINS = 12  # 1: the attempt that arrives first wins a lone problem; 0: the first in their order

# --- targets of an arm: problem/arm_packing.py, kernels/arm_targets.py ------------------------------------------------

ARM_WORKSPACE_SIZE = 2048  # float64 of workspace on the stack; larger problems take the general path
# float64 per target, plus two per link: position, two rows of values, error, three counts
ARM_WORKSPACE_PER_TARGET = 11
ARM_WORKSPACE_ONE_TARGET = ARM_WORKSPACE_PER_TARGET + 2 * MAX_ARM_LINKS  # maximum for one target
ARM_RESULT_ROW = 4  # numbers behind each solution: iterations, attempts, is met, weighted squared error
INVALID_TARGET, START_OUTSIDE_LIMITS = -1, -2  # statuses: invalid target; start outside its limits


class ArmLayout(NamedTuple):
    """Counts and offsets of a packed arm.

    They are the first numbers of `packed_layout`, in this order; lists of integers follow. float64 arrays lie in
    `packed_arm`.
    """

    link_count: int  # counts: links
    seed_count: int  # seeds
    path_row_count: int  # rows of the measuring paths; 0: many targets, which are not measured
    measure_count: int  # measures
    used_column_count: int  # columns of q used by the paths
    nq: int  # numbers of q
    links_start: int  # offsets in `packed_arm`
    seeds_start: int
    seed_tips_start: int
    settings_start: int
    unit_start: int
    value_scales_start: int
    ranges_start: int
    path_table_start: int
    measures_start: int
    tolerances_start: int
    q_columns_start: int  # offsets in `packed_layout`: columns of the links in q
    is_hinge_start: int
    path_spans_start: int
    used_columns_start: int
    target_width: int  # numbers of a target: 3, 4 or 7


ARM_HEAD_SIZE = len(ArmLayout._fields)  # numbers before the lists

# --- limbs of two bones: problem/two_bone_limb.py, kernels/two_bone.py ------------------------------------------------

POSED_LIMB_ROW = 78  # numbers of a limb in its start pose: the fields of `LimbRow`
POSED_PLANE_ROW = 37  # the same of a limb with two parallel hinges: the fields of `PlaneRow`
LIMB_SETTINGS = 8  # the numbers of `LimbSettings`
LIMB_WORKSPACE_SIZE = POSED_LIMB_ROW + 23  # workspace per lane: a row, a target (7), a pole (3) and a solution (13)
# Columns of `q_columns` (5,): columns in q of the three joints (-1: not changed), and whether q has an angle there.
LIMB_FIRST_COLUMN, LIMB_MIDDLE_COLUMN, LIMB_TIP_COLUMN = 0, 1, 2
LIMB_FIRST_HAS_ANGLE, LIMB_MIDDLE_HAS_ANGLE = 3, 4
# Rule of the swivel, the rotation of the middle joint about the chord from first joint to target:
SWIVEL_SHORTEST = 0.0  # none: the whole limb makes the shortest rotation
SWIVEL_THIGH = 1.0  # the middle joint goes to the side of the preferred bend
SWIVEL_AXIS = 2.0  # the bend axis keeps its direction
# Constants of a limb, independent of its pose: problem/two_bone_limb.py, kernels/limb_packing.py.
LIMB_MAP_INDICES = 0  # four maps: of the parents of first joint, middle joint and tip, and of the tip; -1: the world
LIMB_MIDDLE_IS_HINGE = 4  # 1: the middle joint is a hinge; 0: a ball
LIMB_TIP_ROTATES = 5  # 1: the tip's joint is changed too
LIMB_BEND_SIGN = 6  # side to bend to, 1 or -1; 0: as the start pose
LIMB_THIGH_WEIGHT, LIMB_SHIN_WEIGHT = 7, 8  # weights of the two bones in the preferred bend direction
LIMB_JOINTS_START = 9  # three rows of LIMB_JOINT_ROW numbers: first joint, middle joint, tip
LIMB_JOINT_ROW = 16
LIMB_JOINT_HAS_ANGLE, LIMB_JOINT_Q_START = 0, 1  # 1: q holds an angle, 0: a rotation; its column in q
LIMB_JOINT_TRANSLATION_COLUMN = 2  # column in q of its translation, or -1
LIMB_JOINT_LOCAL_OFFSET = 3  # its row among the supplied local offsets
LIMB_JOINT_OFFSET, LIMB_JOINT_ROTATION = 4, 7  # A: x y z and w x y z
LIMB_JOINT_AXIS, LIMB_JOINT_RANGE = 11, 14  # of a hinge: axis; min and max angle

# --- natural bend of a character's limb: solvers/natural/limbs.py, kernels/posture.py ---------------------------------

NATURAL_BEND_ROW = 27
# Directions in the body's frame: usual direction of the limb, and the side it bends to there.
NATURAL_BEND_ALONG, NATURAL_BEND_SIDE = 0, 3
# Directions in the tip's frame: the bone above the tip at rest, and the side the limb bends to.
NATURAL_BEND_STRAIGHT, NATURAL_BEND_AHEAD = 6, 9
NATURAL_BEND_UP = 12  # in the body's frame: against gravity; zero where the middle joint may be above both ends
NATURAL_BEND_STRAIGHT_WEIGHT, NATURAL_BEND_AHEAD_WEIGHT = 15, 16  # weights of the two directions of the tip
NATURAL_BEND_LENGTH, NATURAL_BEND_UPPER_LENGTH = 17, 18  # lengths of the limb and of its first bone
NATURAL_BEND_REST_BULGE = 19  # distance of the middle joint from the chord at rest
NATURAL_BEND_RADIUS = 20  # of the lower bone: it keeps clear of the body and the floor by it
NATURAL_BEND_FRONT, NATURAL_BEND_OUT = 21, 24  # in the body's frame: ahead, and away from its middle

# --- roll of a hand along its arm: solvers/natural/roll.py, kernels/posture_roll.py -----------------------------------

ROLL_JOINT_ROW = 14
# Of a joint on the way from the upper arm to the hand: its first column in q, -1 without one; rotation of A; B: x y z
# and w x y z; its share of the roll of its bone, 0 of joints that are no roll bones; its own translation is apart.
ROLL_JOINT_Q, ROLL_JOINT_BEFORE, ROLL_JOINT_OFFSET, ROLL_JOINT_AFTER, ROLL_JOINT_SHARE = 0, 1, 5, 8, 12
ROLL_ARM_ROW = 15
# Of an arm: index of its elbow among these joints; share of the wrist; 1 if the upper arm may roll; in the elbow's
# frame the line of the upper arm and the rotation from there to the forearm at rest; in the hand's frame the line of
# the forearm; 1 if the elbow may roll; 1 if the arm may swivel instead.
ROLL_ARM_ELBOW, ROLL_ARM_WRIST_SHARE, ROLL_ARM_HAS_UPPER = 0, 1, 2
ROLL_ARM_UPPER_LINE, ROLL_ARM_BEND, ROLL_ARM_LINE = 3, 6, 10
ROLL_ARM_ELBOW_ROLLS, ROLL_ARM_SWIVELS = 13, 14
ROLL_LEAF_ROW = 6
# Of a leaf: its first column in q; its line; its shares of the wrist's and of the upper arm's roll.
ROLL_LEAF_Q, ROLL_LEAF_LINE, ROLL_LEAF_WRIST_SHARE, ROLL_LEAF_UPPER_SHARE = 0, 1, 4, 5

# --- free limbs and heads: solvers/natural/free_limbs.py, kernels/posture_free.py -------------------------------------

FREE_PART_ROW = 4
# Row of the carrier's rotation; first of its joints and their number; 1 for a limb, 0 for a head.
FREE_PART_CARRIER, FREE_PART_FIRST_JOINT, FREE_PART_JOINT_COUNT, FREE_PART_IS_LIMB = 0, 1, 2, 3
FREE_PART_NUMBERS = 15
# Three axes in the carrier's frame: of a limb the centre of its range and the two of its ways from there, of a head
# those that it turns about. Range along each way or about each axis [rad]: back and forth. The axes of an arm are ahead
# and outward, up, ahead and inward.
FREE_PART_AXES, FREE_PART_RANGES = 0, 9
FREE_JOINT_ROW = 2
FREE_JOINT_PARENT, FREE_JOINT_Q_COLUMN = 0, 1  # row of the parent's rotation, first column of q
FREE_REFERENCE_ROW = 8
# In the carrier's frame: against gravity; direction of a limb (3), or rotation of a head from rest (4). Of an arm the
# part of its direction outward at which it touches the trunk, and the radius of that in arm lengths; 0 for a leg.
FREE_REFERENCE_UP, FREE_REFERENCE_POSE, FREE_REFERENCE_LEAST_OUT, FREE_REFERENCE_TRUNK = 0, 3, 6, 7


# --- chains of joints: problem/chain.py, kernels/chain_kinematics.py --------------------------------------------------

CHAIN_TARGET_ROW = 10  # numbers of an effector target: point, rotation w x y z, unit vector
CHAIN_POINT, CHAIN_ROTATION, CHAIN_AXIS = 0, 3, 7
TIP_FIRST, BASE_FIRST, GROWING_WINDOW = 0, 1, 2  # orders of CCD sweeps; GROWING_WINDOW grows from the tip
EXACT_HINGE, PROJECTED_HINGE = 0, 1  # CCD hinge rules: best angle, or projection of a ball's rotation

# --- targets of a chain: problem/chain.py, kernels/chain_targets.py ---------------------------------------------------


class ChainTables(NamedTuple):
    """Constant tables of a chain and its solver, all of float64. m links.

    They lie one behind the other in `packed_chain`. `packed_layout` begins with the head below; then it has three
    numbers for each table, in the order of these fields: first position, rows and columns. The columns of q that
    `path_table` uses follow.
    """

    axes: Any  # (m, 3), ranges (m, 2) and limits (m, LIMIT_ROW): see kernels/chain_kinematics.py
    ranges: Any
    limits: Any
    joint_weights: Any  # (m,) and goal_masks (m, 3): see `GoalChain` there; unused by the solvers of points
    goal_masks: Any
    tip: Any  # (1, CHAIN_TARGET_ROW) in the last link's moved frame
    options: Any  # (o,) of the solver; see its `read_options`
    kernel_unit: Any  # (1,) world units in a kernel unit, negative for a mirrored base
    target_terms: Any  # (t, 3), link_conversions (m, 6) and all up to turning_hinges: see kernels/kernel_coordinates.py
    link_conversions: Any
    shared_columns: Any  # (p, 2)
    hinged_balls: Any  # (h, 2)
    hinged_ball_limits: Any  # (h, HINGED_BALL_ROW)
    translation_columns: Any  # (n, 2)
    translation_scales: Any  # (n,)
    turning_hinges: Any  # (a, 3)
    path_table: Any  # (r, PATH_ROW), path_spans (c, 2) and measures (c, MEASURE_ROW): see kernels/goal_errors.py;
    path_spans: Any  # all three empty where errors are not measured
    measures: Any


CHAIN_U_SIZE, CHAIN_WORK_SIZE, CHAIN_USED_COLUMN_COUNT = 0, 1, 2  # numbers of u; of the solver's scratch memory
CHAIN_HEAD_SIZE = 3  # numbers before the positions of the tables


# --- targets of a tree: problem/tree_packing.py, kernels/tree_targets.py ----------------------------------------------


class TreeTables(NamedTuple):
    """Constant tables around the solver of a tree, all of float64.

    They lie one behind the other in `packed_tables`. `packed_layout` begins with the head below; then it has three
    numbers for each table, in the order of these fields: first position, rows and columns. The columns of q that
    `path_table` and `map_table` use follow.
    """

    kernel_unit: Any  # (1,) world units in a kernel unit, negative for a mirrored base
    target_terms: Any  # (t, 3) and set_targets (s, SET_TARGET_ROW): see kernels/kernel_coordinates.py
    set_targets: Any
    target_template: Any  # (width,) kernel targets of closed loops; else zeros
    shared_columns: Any  # (p, 2) and all up to turning_hinges: see kernels/kernel_coordinates.py
    hinged_balls: Any  # (h, 2)
    hinged_ball_limits: Any  # (h, HINGED_BALL_ROW)
    translation_columns: Any  # (n, 2)
    translation_scales: Any  # (n,)
    turning_hinges: Any  # (a, 3)
    path_table: Any  # (r, PATH_ROW), path_spans (c, 2) and measures (c, MEASURE_ROW): see kernels/goal_errors.py;
    path_spans: Any  # all three empty where world maps measure
    measures: Any
    map_table: Any  # (r, FK_ROW) and map_measures (c, WORLD_MEASURE_ROW): see kernels/world_errors.py; or empty
    map_measures: Any


TREE_PATH_COLUMN_COUNT, TREE_MAP_COLUMN_COUNT = 0, 1  # columns of q that the two tables of joints use
TREE_HEAD_SIZE = 2  # numbers before the positions of the tables

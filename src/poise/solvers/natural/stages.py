"""Stages of natural poses: root, trunk, arms and legs in turn.

Each stage is a problem of its own with some of the goals, from the pose that the stage before it left. None of them has
to succeed: what they leave is the start of a solve for all goals together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError
from poise.maths.arrays import Ints
from poise.model.limits import is_soft
from poise.model.pose import Pose
from poise.model.roles.role_search import find_joint_by_role
from poise.model.skeleton import Kind, Skeleton, find_free_root
from poise.problem.dof_layout import MEASURE_KINDS, TARGET_SIZES, find_pole_limb, has_own_root
from poise.problem.goals import (
    GOAL_CLASSES,
    Goal,
    JointGoal,
    LookAt,
    Near,
    Orientation,
    Pin,
    Place,
    Pole,
    Position,
    is_joint_goal,
)
from poise.problem.problem import Problem
from poise.runtime.result_cache import copy_own_fields, get_or_compute
from poise.solvers.natural.gaze import GazeChain, build_gaze_chain
from poise.solvers.natural.limbs import Bends, RoleLimb, build_bends, find_limbs
from poise.solvers.natural.roll import RollPlan, build_roll_plan
from poise.solvers.natural.toes import HeldToes, find_held_toes

_IDENTITY = (1.0, 0.0, 0.0, 0.0)
_MAX_CLASSES = 64  # of goals


class NaturalStage(NamedTuple):
    """Some of the goals, and what brings the figure to them.

    columns  which numbers of a row of targets are theirs
    gaze     of a head that looks: what turns for it
    weighed  numbers of the problem's goals whose weights they have; none where no weight counts
    bends    of a limb: how it is bent
    roll     of an arm whose hand is to be turned: how its roll is shared; None where nothing shares it
    poled    of a limb with a Pole: which numbers are that goal's; None where the body says to which side it bends
    toes     of a leg whose toes are held: how they hang on their foot
    carries  of a root without goals: the stages of the limbs that it is carried nearer to their targets for
    hips     of a root that was placed before: their row, about which the trunk bows for these limbs; -1 elsewhere
    pinned   of the same: which of these are legs with pinned feet
    spine    of the same: the rows between it and the arms that bend when it bows
    """

    goals: tuple[Goal, ...]
    columns: Ints
    free_root: bool
    bends: Bends | None = None
    roll: RollPlan | None = None
    poled: Ints | None = None
    toes: HeldToes | None = None
    carries: tuple[NaturalStage, ...] = ()
    hips: int = -1
    pinned: tuple[bool, ...] = ()
    spine: tuple[int, ...] = ()
    weighed: tuple[int, ...] = ()
    gaze: GazeChain | None = None

    @property
    def has_arms(self) -> bool:
        """Whether arms are among its limbs."""
        return _has(self.carries, "arm")


class _FirstStages(NamedTuple):
    """Stages for kinds of goals, with the weights of the first ones."""

    stages: tuple[NaturalStage, ...]
    weights: tuple[object, ...]


def find_stages(problem: Problem) -> tuple[NaturalStage, ...]:
    """Find the stages of a problem, the root first. There are none where it moves no known limb."""
    if not has_room(problem.start, problem.goals):
        return ()
    near = tuple(goal.joints for goal in problem.goals if isinstance(goal, Near))
    kinds, offsets, weights, ranges = problem.goal_key
    has_origin, has_translations = problem.origin is not None, problem.start.translations is not None
    key = kinds, offsets, ranges, problem.free_root, near, has_translations, has_origin
    stages, first_weights = get_or_compute(
        problem.skeleton, "stages", key, lambda: _FirstStages(_build_stages(problem), weights)
    )
    if weights == first_weights or not any(stage.weighed for stage in stages):
        return stages
    return tuple([_weigh_stage(stage, problem.goals) for stage in stages])


def has_lone_limbs(problem: Problem, stages: tuple[NaturalStage, ...]) -> bool:
    """Return whether only staged limbs and their collar bones can move."""
    return get_or_compute(problem.plan.tree, "has lone limbs", None, lambda: _has_lone_limbs(problem, stages))


def _has_lone_limbs(problem: Problem, stages: tuple[NaturalStage, ...]) -> bool:
    skeleton, own = problem.skeleton, set[int]()
    for stage in stages:
        if stage.bends is None:
            return False
        limb = stage.bends.limb
        path = skeleton.list_path(limb.tip)
        own.update(path[path.index(limb.first if limb.collar is None else limb.collar.rows[0]) :])
    return not problem.free_root and all(skeleton.index(name) in own for name in problem.joints)


def has_room(start: Pose, goals: tuple[Goal, ...]) -> bool:
    """Whether poses may be natural ones.

    Not where poses have scales of their own, which may be zero above a part of a chain in some frames, and where Near
    weighs all joints.
    """
    return start.scales is None and not any(isinstance(goal, Near) and goal.joints is None for goal in goals)


def _build_stages(problem: Problem) -> tuple[NaturalStage, ...]:
    skeleton, goals = problem.skeleton, problem.goals
    held = {row for goal in goals if isinstance(goal, Near) for row in goal.weights(skeleton)}
    limbs = {limb.tip: limb for limb in find_limbs(skeleton) if _may_bend(problem, limb, held)}
    columns, root = _find_columns(goals), _find_root_rows(problem)
    of_root: list[_StageGoal] = []
    of_trunk: list[_StageGoal] = []
    found: list[NaturalStage] = []
    for i, goal in enumerate(goals):
        if not is_joint_goal(goal):
            continue
        row = skeleton.index(goal.joint)
        poles = _find_lone_poles(goals, skeleton, limbs[row]) if row in limbs else None
        if poles is not None and _is_bent_by(goal, skeleton, limbs[row]):
            stage = _build_limb_stage(problem, goal, columns[i], limbs[row], held)
            found.append(stage._replace(poled=columns[poles[0]]) if poles else stage)
        elif (held_toes := _find_held_toes(goals, skeleton, goal, limbs)) is not None:
            limb = limbs[held_toes.foot]
            foot = _make_open_goal(skeleton.names[limb.tip], turns=True)
            found.append(_build_limb_stage(problem, foot, columns[i], limb, held)._replace(toes=held_toes))
        elif root is not None and row in root:
            of_root.append(_StageGoal(i, goal, columns[i]))
        elif not _is_below(skeleton, row, limbs):
            of_trunk.append(_StageGoal(i, _root_below(goal, skeleton, root or ()), columns[i]))
    first: list[NaturalStage] = []
    if root is not None and of_root:
        first.append(_build_shared_stage(of_root, free_root=True))
        is_whole = _has(found, "arm") or len(of_root) + len(found) == sum(map(is_joint_goal, goals))
        if not of_trunk and is_whole and _has(found, "leg") and _are_placed(skeleton, of_root, root[-1]):
            first.append(_build_root_stage(problem, root[0], tuple(found), held)._replace(hips=root[-1]))
    elif root is not None and _has(found, "leg"):
        first.append(_build_root_stage(problem, root[0], tuple(found), held))
    looks = _find_gaze(problem, of_trunk, found, held, root if first and not of_root else None)
    if looks is not None:
        first.append(looks)
    elif of_trunk and (found or first) and (root is None or of_root):
        first.append(_build_shared_stage(of_trunk, free_root=False))
    return tuple(stage for stage in (*first, *found) if _is_solvable(problem, stage))


def _are_placed(skeleton: Skeleton, of_root: Sequence[_StageGoal], hips: int) -> bool:
    """Return whether the only goal of a root places its hips."""
    goal = of_root[0].goal
    is_alone = len(of_root) == 1 and skeleton.index(goal.joint) == hips
    return is_alone and _holds_place(goal, skeleton) and "rotation" not in goal.measures


def _has(limbs: Sequence[NaturalStage], kind: str) -> bool:
    """Return whether limbs of a kind have stages."""
    return any(limb.bends is not None and limb.bends.limb.kind == kind for limb in limbs)


def _find_gaze(
    problem: Problem,
    of_trunk: Sequence[_StageGoal],
    limbs: Sequence[NaturalStage],
    held: set[int],
    standing_root: tuple[int, ...] | None,
) -> NaturalStage | None:
    """Find the stage of a looking head. None where other goals move the trunk as well.

    A head whose figure has a root that stays is left to the engine: shares by range do nearly as well, in microseconds.

    standing_root  rows of a root without goals above feet that have some
    """
    if not problem.free_root or len(of_trunk) != 1 or not isinstance(of_trunk[0].goal, LookAt):
        return None
    hips = find_joint_by_role(problem.skeleton, "hips")
    pelvis = hips if standing_root is not None and hips == standing_root[0] and hips not in held else None
    goal = of_trunk[0].goal
    chain = build_gaze_chain(problem, goal, has_other_goals=_has(limbs, "arm"), pelvis=pelvis)
    if chain is None or held.intersection(*[goal.shares(problem.skeleton)]):
        return None
    return NaturalStage((goal,), of_trunk[0].columns, free_root=False, gaze=chain)


def _is_solvable(problem: Problem, stage: NaturalStage) -> bool:
    """Return whether a stage has turning joints. Joints below a scale of zero cannot turn."""
    if stage.bends is not None or stage.gaze is not None:  # whose joints the problem turns, too
        return True
    try:
        return bool(Problem(_take_first(problem.start), stage.goals, stage.free_root).plan.joint_names)
    except UnsupportedError:
        return False


def _find_columns(goals: Sequence[Goal]) -> list[Ints]:
    """Find each goal's columns in a row of targets."""
    found: list[Ints] = []
    first = 0
    for goal in goals:
        count = sum(TARGET_SIZES[MEASURE_KINDS[measure]] for measure in goal.measures)
        found.append(np.arange(first, first + count))
        first += count
    return found


def _find_root_rows(problem: Problem) -> tuple[int, ...] | None:
    """Find the rows of a moving root: free joint and hips. None where the root stays."""
    if not problem.free_root:
        return None
    skeleton = problem.skeleton
    free, hips = find_free_root(skeleton), find_joint_by_role(skeleton, "hips")
    assert free is not None  # the problem has found it
    return (free,) if hips is None or free not in skeleton.list_path(hips) else tuple(dict.fromkeys((free, hips)))


def _may_bend(problem: Problem, limb: RoleLimb, held: set[int]) -> bool:
    """Whether the limb's joints may turn, and nobody else says how."""
    skeleton, moving = problem.skeleton, set(problem.joints)
    rows = limb.first, limb.middle
    free = all(skeleton.names[row] in moving and row not in held for row in rows)
    return free and not any(is_soft(skeleton.limits[row]) for row in rows)


def _find_lone_poles(goals: Sequence[Goal], skeleton: Skeleton, limb: RoleLimb) -> list[int] | None:
    """Number the Poles beside the one other goal of a limb.

    There is one at most; None where other goals move the limb, too.

    Another goal for its tip, knee or elbow is left to the engine, and so is a Pole of other joints.
    """
    own = skeleton.list_path(limb.tip)[skeleton.list_path(limb.tip).index(limb.first) :]
    speaks = [i for i, goal in enumerate(goals) if is_joint_goal(goal) and skeleton.index(goal.joint) in own]
    poles: list[int] = []
    for i in speaks:
        goal = goals[i]
        if isinstance(goal, Pole) and find_pole_limb(skeleton, goal, goals) == (limb.first, limb.middle, limb.tip):
            poles.append(i)
    return poles if len(poles) <= 1 and len(speaks) == len(poles) + 1 else None


def _find_held_toes(
    goals: Sequence[Goal], skeleton: Skeleton, goal: JointGoal, limbs: dict[int, RoleLimb]
) -> HeldToes | None:
    """Find the held toes of a goal with its own leg."""
    toes = skeleton.index(goal.joint)
    limb = limbs.get(int(skeleton.parents[toes]))
    if limb is None or limb.kind != "leg" or not _holds_place(goal, skeleton):
        return None
    way = skeleton.list_path(toes)
    own = way[way.index(limb.first) :]
    if sum(is_joint_goal(each) and skeleton.index(each.joint) in own for each in goals) > 1:
        return None
    return find_held_toes(skeleton, limb.tip, toes) if _can_move(goal, skeleton, limb) else None


def _is_bent_by(goal: Goal, skeleton: Skeleton, limb: RoleLimb) -> bool:
    """Return whether a goal places a limb's tip and bends it."""
    return is_joint_goal(goal) and _holds_place(goal, skeleton) and _can_move(goal, skeleton, limb)


def _holds_place(goal: JointGoal, skeleton: Skeleton) -> bool:
    """Whether a goal says where its joint itself is."""
    if not isinstance(goal, Position | Place | Pin) or any(getattr(goal, "offset", ())):
        return False
    return "position" in goal.measures and not has_own_root(skeleton, goal)


def _can_move(goal: JointGoal, skeleton: Skeleton, limb: RoleLimb) -> bool:
    """Whether all of a limb may bend for a goal."""
    chain = {skeleton.index(name) for name in skeleton.chain(goal.root, goal.joint)}
    return limb.first in chain and limb.middle in chain


def _is_below(skeleton: Skeleton, row: int, limbs: dict[int, RoleLimb]) -> bool:
    """Whether a joint is part of a limb or hangs on one."""
    return any(limb.first in skeleton.list_path(row) for limb in limbs.values())


def _build_limb_stage(problem: Problem, goal: JointGoal, columns: Ints, limb: RoleLimb, held: set[int]) -> NaturalStage:
    """Build the stage of a limb. Limited joints are left to the engine and a Pole."""
    names = problem.skeleton.names
    first, middle, tip = names[limb.first], names[limb.middle], names[limb.tip]
    turns = "rotation" in goal.measures
    wanted = _make_open_goal(tip, turns=turns, root=first)
    goals = wanted, Pole(middle, np.zeros(3), root=first, tip=tip)
    bends = build_bends(Problem(_take_first(problem.start), goals, free_root=False), limb, problem, held)
    has_pole = any(isinstance(goal, Pole) for goal in problem.goals)
    roll = build_roll_plan(problem, limb, has_pole=has_pole) if turns and limb.kind == "arm" else None
    return NaturalStage(goals, columns, free_root=False, bends=bends, roll=roll)


def _build_root_stage(problem: Problem, root: int, limbs: tuple[NaturalStage, ...], held: set[int]) -> NaturalStage:
    """Build the stage of a standing root without goals."""
    goals, none = (_make_open_goal(problem.skeleton.names[root], turns=True),), np.zeros(0, dtype=np.int64)
    skeleton = problem.skeleton
    pins = {skeleton.index(goal.joint) for goal in problem.goals if isinstance(goal, Pin) and goal.position}
    pinned = tuple(_is_pinned(limb, pins) for limb in limbs)
    spine = _find_spine(problem, root, held, has_arms=_has(limbs, "arm"))
    return NaturalStage(goals, none, free_root=True, carries=limbs, pinned=pinned, spine=spine)


def _is_pinned(limb: NaturalStage, pins: set[int]) -> bool:
    """Return whether a limb is a leg with pinned foot or toes."""
    if limb.bends is None or limb.bends.limb.kind != "leg":
        return False
    return limb.bends.limb.tip in pins or (limb.toes is not None and limb.toes.toes in pins)


def _find_spine(problem: Problem, root: int, held: set[int], *, has_arms: bool) -> tuple[int, ...]:
    """Find the free spine joints between root and arms.

    Goals of arms say which of them move; those of legs alone leave them free.
    """
    skeleton, moving = problem.skeleton, set(problem.joints)
    carriers = {limb.carrier for limb in find_limbs(skeleton) if limb.kind == "arm"}
    ways = [[row for row in skeleton.list_path(carrier) if root in skeleton.list_path(row)] for carrier in carriers]
    shared = [row for row in (ways[0] if ways else ()) if all(row in way for way in ways)]
    free = [
        row for row in shared if row != root and row not in held and (not has_arms or skeleton.names[row] in moving)
    ]
    return tuple(row for row in free if skeleton.kinds[row] >= Kind.BALL and not is_soft(skeleton.limits[row]))


def _take_first(start: Pose) -> Pose:
    return start[(0,) * len(start.shape)] if start.shape else start


class _StageGoal(NamedTuple):
    """A stage's goal with its number and columns in the problem."""

    number: int
    goal: JointGoal
    columns: Ints


def _build_shared_stage(stage_goals: Sequence[_StageGoal], *, free_root: bool) -> NaturalStage:
    """The stage of several goals."""
    columns = np.concatenate([each.columns for each in stage_goals])
    goals = tuple(_replace_pin(each.goal) for each in stage_goals)
    return NaturalStage(goals, columns, free_root=free_root, weighed=tuple(each.number for each in stage_goals))


def _weigh_stage(stage: NaturalStage, goals: Sequence[Goal]) -> NaturalStage:
    """The stage with the weights of other goals of the same kinds."""
    if not stage.weighed:
        return stage
    pairs = zip(stage.goals, stage.weighed, strict=True)
    return stage._replace(goals=tuple(_replace_goal(goal, goals[number]) for goal, number in pairs))


def _replace_goal(stage_goal: Goal, goal: Goal) -> Goal:
    """Replace a stage's goal by another of the same kind."""
    assert is_joint_goal(goal)
    root = getattr(stage_goal, "root", None)
    return _replace_pin(goal if root is None or root == getattr(goal, "root", None) else root_goal(goal, root))


def _replace_pin(goal: JointGoal) -> JointGoal:
    """Replace a Pin by a goal with targets."""
    if not isinstance(goal, Pin):
        return goal
    if not goal.position:
        return Orientation(goal.joint, _IDENTITY, root=goal.root, weight=goal.weight)
    return _make_open_goal(goal.joint, turns=goal.rotation, root=goal.root, weight=goal.weight)


def _make_open_goal(joint: str, *, turns: bool, root: str | None = None, weight: float = 1.0) -> Position | Place:
    """Make a goal for targets in rows."""
    if turns:
        return Place(joint, np.zeros(3), _IDENTITY, root=root, weight=weight)
    return Position(joint, np.zeros(3), root=root, weight=weight)


def _root_below(goal: JointGoal, skeleton: Skeleton, rows: tuple[int, ...]) -> JointGoal:
    """Root a goal below the last of some rows."""
    if has_own_root(skeleton, goal):
        return goal  # that alone moves
    way = skeleton.list_path(skeleton.index(goal.joint))
    chain = [skeleton.index(name) for name in skeleton.chain(goal.root, goal.joint)]
    if not chain:
        return goal
    last = max((way.index(row) for row in rows if row in way), default=-1)
    first = max(last + 1, way.index(chain[0]))
    return root_goal(goal, skeleton.names[way[min(first, len(way) - 1)]])


def root_goal(goal: JointGoal, root: str) -> JointGoal:
    """Give a goal a root. Goals without roots stay as they are.

    So does a Pole: its root says where its line begins.
    """
    if not _takes_root(type(goal)):
        return goal
    if type(goal) not in GOAL_CLASSES:
        return replace(goal, root=root)  # pyright: ignore[reportArgumentType]
    rooted = copy_own_fields(goal)  # its other fields are checked
    object.__setattr__(rooted, "root", root)
    return rooted


@lru_cache(maxsize=_MAX_CLASSES)
def _takes_root(goal_class: type) -> bool:
    """Whether the root of a class of goals says what moves."""
    if not is_dataclass(goal_class) or issubclass(goal_class, Pole):
        return False
    return any(field.name == "root" and field.init for field in fields(goal_class))

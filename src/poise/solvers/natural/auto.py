"""Choose the solver for "auto". It is two_bone or the engine, and for figures their natural poses before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from poise import solvers
from poise.errors import UnsupportedError, join_names
from poise.model.joint_tree import is_robot
from poise.model.pose import Pose
from poise.model.roles.bone_names import REQUIRED_BONES
from poise.model.roles.role_search import find_confident_roles
from poise.model.skeleton import Skeleton, find_free_root
from poise.problem.feasibility import find_touched
from poise.problem.goals import Goal, LookAt, Place, Pole, Position, is_joint_goal
from poise.problem.problem import Problem
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.answer_refinement import remove_balance_goals
from poise.solvers.base.interface import Prefer, Request
from poise.solvers.natural.floor import Floor
from poise.solvers.natural.gaze import share_gazes
from poise.solvers.natural.limbs import find_limbs, shows_its_side
from poise.solvers.natural.natural import Natural
from poise.solvers.natural.stages import find_stages, has_room, root_goal
from poise.solvers.two_bone import TwoBone


def select_solver(
    solver: Any, problem: Problem, prefer: Prefer, natural: bool | None, floor: Floor | None = None
) -> solvers.Solver:
    """Choose the solver of a problem. UnsupportedError where natural poses are wanted and cannot be had."""
    found = _choose(solver, problem, prefer, natural)
    if floor is None:
        return found
    if isinstance(found, Natural):
        return replace(found, obstacles=found.obstacles._replace(floor=floor))
    if solver != "auto" or prefer != "first" or natural is False or not is_figure(problem.skeleton):
        raise UnsupportedError(
            'floor= goes with natural poses: a figure whose arms and legs are known, solver="auto", prefer="first"'
        )
    return found


def _choose(solver: Any, problem: Problem, prefer: Prefer, natural: bool | None) -> solvers.Solver:
    if natural and (solver != "auto" or prefer != "first"):
        what = f"prefer={prefer!r}" if solver == "auto" else f"the solver {getattr(solver, 'name', solver)!r}"
        raise UnsupportedError(f'natural=True goes with solver="auto" and prefer="first" only, not with {what}')
    if natural and not is_figure(problem.skeleton):
        raise UnsupportedError(
            f"natural=True is for figures whose arms and legs are known: {_describe_unknown(problem.skeleton)}"
        )
    if solver != "auto":
        return solvers.make_solver(solver) if isinstance(solver, str) else solver
    if problem.skeleton.loops and find_touched(problem):
        if natural:
            raise UnsupportedError("natural=True poses limbs alone; joints of closed loops move with natural=None")
        return solvers.make_solver("levenberg_marquardt")
    limb = prefer == "first" and not problem.free_root and _is_two_bone(problem)
    poled = limb and any(isinstance(goal, Pole) for goal in problem.goals)
    plain = solvers.make_solver("two_bone" if limb else "levenberg_marquardt")
    has_sets = problem.plan.has_set_terms
    if natural is False or has_sets or poled or prefer != "first" or not is_figure(problem.skeleton):
        return plain  # the closed form meets a pole
    sided = _get_side(problem) if limb else ""
    if sided == "leg":
        return plain
    stages = find_stages(remove_balance_goals(problem) if problem.has_balance else problem)
    lowers = sided == "arm" and any(stage.bends is not None and stage.bends.closed for stage in stages)
    if not stages or (sided and not lowers):
        return plain
    return Natural(finisher=plain, lowers=lowers)


def is_figure(skeleton: Skeleton) -> bool:
    """Return whether a skeleton has natural poses. It has an arm or a leg and is no robot."""
    return not is_robot(skeleton.kinds, skeleton.parents) and bool(find_limbs(skeleton))


def name_turning_joints(start: Pose, goals: tuple[Goal, ...], *, free_root: bool) -> tuple[Goal, ...]:
    """Name the turning joints of goals for natural poses."""
    has_gaze = any([isinstance(goal, LookAt) for goal in goals])  # noqa: C419  (faster than a generator)
    if has_gaze and has_room(start, goals) and is_figure(start.skeleton):
        goals = share_gazes(start.skeleton, goals)
    return root_goals(start, goals) if free_root else goals


def root_goals(start: Pose, goals: tuple[Goal, ...]) -> tuple[Goal, ...]:
    """Name the root of a free figure's goals. All joints between both may then move."""
    if not has_room(start, goals) or not is_figure(start.skeleton):
        return goals
    skeleton = start.skeleton
    root = find_free_root(skeleton)
    assert root is not None  # the caller has freed one

    def root_goal_at_hips(goal: Goal) -> Goal:
        if not is_joint_goal(goal) or getattr(goal, "root", root) is not None:
            return goal
        row = skeleton.index(goal.joint)
        return root_goal(goal, skeleton.names[root]) if row != root and root in skeleton.list_path(row) else goal

    return tuple(root_goal_at_hips(goal) for goal in goals)


def _describe_unknown(skeleton: Skeleton) -> str:
    if is_robot(skeleton.kinds, skeleton.parents):
        return "this is a robot, all joints of which are hinges and slides"
    missing = [role for role in REQUIRED_BONES if role not in find_confident_roles(skeleton)]
    if missing:
        return f"this skeleton has no sure {join_names(missing)}"
    return "neither its rest pose nor the frames of its hips and chest show which way the body faces"


def _get_side(problem: Problem) -> str:
    """Return the kind of a lone limb with a visible bend side. An empty string stands for none."""
    return get_or_compute(problem.skeleton, "sided", problem.goal_key.kinds, lambda: _find_sided(problem))


def _find_sided(problem: Problem) -> str:
    skeleton = problem.skeleton
    tips = [skeleton.index(goal.joint) for goal in problem.goals if isinstance(goal, Position | Place)]
    limb = next((limb for limb in find_limbs(skeleton) if limb.tip in tips), None)
    return limb.kind if limb is not None and shows_its_side(skeleton, limb) else ""


def _is_two_bone(problem: Problem) -> bool:
    """Return whether two_bone takes a problem. Packing it shows that, once for a plan."""
    kinds = list(map(type, problem.goals))
    if kinds not in ([Position], [Place]) and set(kinds) not in ({Position, Pole}, {Place, Pole}):
        return False
    return get_or_compute(problem.plan.tree, "bends two", None, lambda: _is_taken(problem))


def _is_taken(problem: Problem) -> bool:
    two_bone = TwoBone()
    try:
        solvers.check(two_bone, problem, Request())
        two_bone.refuse(problem)
    except UnsupportedError:
        return False
    return True

"""Format the outcome of a solve as text. The sentences contain the errors and the reason for a missed goal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, join_names
from poise.maths.arrays import Bools, Floats
from poise.maths.formatting import format_number
from poise.model.joint_tree import FLAT_MESSAGE, is_flat
from poise.model.limit_bounds import describe_active_limits
from poise.model.limits import EulerBox, SwingTwist
from poise.model.skeleton import Kind, Skeleton
from poise.problem import feasibility
from poise.problem.dof_layout import LENGTH_KINDS
from poise.problem.goals import LookAt, Place, is_joint_goal
from poise.problem.problem import Problem, Tolerance, find_required_goals
from poise.solvers.base.interface import Status
from poise.solving.diagnosis import measure_local_optimality

_METRES_FROM_M = 0.1  # [m] shorter lengths are written in millimetres
_UNIT_SIZES_M = {"centimetres": 0.01, "millimetres": 0.001, "metres": 1.0}  # [m]
# limb lengths: a target farther than the first or nearer than the second to the origin may have another unit
_FAR_REACH_RATIO, _CLOSE_REACH_RATIO = 10.0, 0.05
# longest reaches: in the suggested unit the target must be nearer, as a root further up may help
_NEAR_REACH_RATIO = 1.5
_DEGREES_FROM_RAD = 1e-3  # [rad] larger angles are written in degrees


class SolveOutcome(NamedTuple):
    """Outcome for one target, for messages.

    Holds the problem, the pose q (1, nq), the target (1, W) and its errors (c,).

    restraints    names of the causes that hold the pose back: the speed of a Tracker, an option of the solver
    pose_message  about the pose itself: open loops, joints of a Tracker still outside their limits
    """

    problem: Problem
    q: Floats
    target: Floats
    errors: Floats
    status: Status
    iterations: int
    tolerance: Tolerance
    restraints: tuple[str, ...] = ()
    pose_message: str = ""


def format_outcome(outcome: SolveOutcome) -> str:
    """Format the outcome and its reason."""
    return f"{_format_goals(outcome)}; {outcome.pose_message}" if outcome.pose_message else _format_goals(outcome)


def _format_goals(outcome: SolveOutcome) -> str:
    if not outcome.problem.has_optional_goals:
        return _format_status(outcome)
    needed = find_required_goals(outcome.problem)
    if needed is None:
        return f"reached: every goal is optional, {_format_residual(outcome.problem, outcome.errors)} left"
    spared = outcome.problem.optional_columns
    of_spared = _format_residual(outcome.problem, outcome.errors, spared)
    outcome = outcome._replace(
        problem=needed.problem,
        target=outcome.target[:, needed.target_columns],
        errors=outcome.errors[needed.error_columns],
    )
    return f"{_format_status(outcome)}; of optional goals {of_spared}"


def _format_status(outcome: SolveOutcome) -> str:
    residual, several = _format_residual(outcome.problem, outcome.errors), len(outcome.problem.goals) > 1
    match outcome.status:
        case Status.out_of_reach:
            text = f"out of reach: {_format_reach_excess(outcome)}; {residual} left{_suggest_roots(outcome.problem)}"
        case Status.limited:
            met = "the goals" if several else "the target"
            reason = f"a pose without limits meets {met}, none was found within them"
            text = f"limited: {reason}; {residual} left; {_format_blocking(outcome)}"
        case Status.nothing_to_move:
            text = f"nothing to move: {_explain_immovable(outcome.problem)}, {residual} left"
        case Status.over_constrained:
            text = (
                f"over-constrained: {_format_missing_freedom(outcome.problem)}; {residual} "
                f"left{_suggest_roots(outcome.problem)}{_format_joints_at_limits(outcome)}"
            )
        case Status.contradictory:
            text = f"contradictory: {_format_conflict(outcome)}; {residual} left{_format_joints_at_limits(outcome)}"
        case Status.held_back:
            return (
                f"held back: as near as {_join_names(f'{name}=' for name in outcome.restraints)} lets it; "
                f"{residual} left"
            )
        case Status.on_the_way:
            return f"on the way (held back by {_join_names(outcome.restraints)}): {residual} left"
        case Status.open_loop:
            return f"open loop: the {'goals are' if several else 'goal is'} met, {residual} left"
        case _:
            iteration_text = f"{outcome.iterations} iteration{'' if outcome.iterations == 1 else 's'}"
            text = f"{outcome.status.name}: {residual} left, {iteration_text}"
            text += _format_joints_at_limits(outcome) if outcome.status == Status.stalled else ""
    return (
        f"{text}; still on the way there (held back by {_join_names(outcome.restraints)})"
        if outcome.restraints
        else text
    )


def format_open_loops(problem: Problem, q: Floats, tolerance: Tolerance) -> str:
    """Name open loops of a pose q (1, nq) with their gaps."""
    parts: list[str] = []
    for gap, start_gap in zip(
        feasibility.measure_gaps(problem, q), feasibility.measure_start_gaps(problem), strict=True
    ):
        if not gap.is_open(tolerance)[0]:
            continue
        loop_joints = " and ".join("the world" if joint is None else repr(joint) for joint in gap.loop.joints)
        text = f"the loop {gap.loop.name!r} of {loop_joints} is open by {_format_gap(problem.skeleton, gap, tolerance)}"
        start_text = (
            f" (at the start by {_format_gap(problem.skeleton, start_gap, tolerance)})"
            if start_gap.is_open(tolerance)[0]
            else ""
        )
        parts.append(text + start_text)
    return "; ".join(parts)


def format_joints_outside(skeleton: Skeleton, q: Floats) -> str:
    """Name joints of a pose q (nq,) outside their limits. "" is none."""
    names = skeleton.legal(q)[1]
    return f"still outside {'its' if len(names) == 1 else 'their'} limits: {join_names(names)}" if names else ""


def _format_gap(skeleton: Skeleton, gap: feasibility.LoopGap, tolerance: Tolerance) -> str:
    """Format the excessive distance and angle of a gap."""
    parts = [format_length(skeleton, float(gap.distance[0]))] if gap.has_distance_gap(tolerance)[0] else []
    return " and ".join([*parts, _format_angle(float(gap.angle[0]))] if gap.has_angle_gap(tolerance)[0] else parts)


def _format_joints_at_limits(outcome: SolveOutcome) -> str:
    """Name joints at their limits at a local optimum. This is an observation, not a reason."""
    optimality = measure_local_optimality(outcome.problem, outcome.q, outcome.target)
    return f"; {_format_blocking(outcome)}" if optimality.is_stationary[0] and optimality.is_blocking[0].any() else ""


def _format_conflict(outcome: SolveOutcome) -> str:
    """Name conflicting goals and the amount of the conflict."""
    problem, names = outcome.problem, outcome.problem.skeleton.names
    conflicts = feasibility.find_conflicts(problem, outcome.q, outcome.target, outcome.tolerance)
    proved_conflict = next((conflict for conflict in conflicts if conflict.excess[0] > 0.0), None)
    if proved_conflict is None:
        return "each goal alone is met, and no pose was found that meets all of them"
    joints = [repr(names[problem.measures[i].row]) for i in proved_conflict.measures]
    is_same_joint = len(set(joints[:2])) == 1
    target_value = float(proved_conflict.target[0])
    if proved_conflict.kind == "turned":
        gap = _format_angle(target_value)
        subject = f"the two goals turn {joints[0]}" if is_same_joint else f"the goals turn {joints[0]} and {joints[1]}"
        return f"the goals contradict each other: {subject} to rotations or directions that are {gap} too far apart"
    if proved_conflict.kind == "askew":
        gap = format_length(problem.skeleton, target_value)
        subject = f"the two targets of {joints[0]}" if is_same_joint else f"the targets of {joints[0]} and {joints[1]}"
        return f"the goals contradict each other: {subject} do not fit the rotation wanted of {joints[2]}, by {gap}"
    gap_length, possible_text = (
        format_length(problem.skeleton, float(value)) for value in (target_value, proved_conflict.nearest_possible[0])
    )
    subject = f"the two targets of {joints[0]}" if is_same_joint else f"the targets of {joints[0]} and {joints[1]}"
    if not proved_conflict.nearest_possible[0]:
        return f"the goals contradict each other: {subject} are {gap_length} apart"
    bound = (
        f"reach at most {possible_text}"
        if proved_conflict.kind == "far"
        else f"keep them at least {possible_text} apart"
    )
    return f"the goals contradict each other: {subject} are {gap_length} apart, and the bones between them {bound}"


def _join_names(names: Iterable[str]) -> str:
    return " and ".join(names)


def format_length(skeleton: Skeleton, value: float) -> str:
    """Format a length. It is written in mm or m where the unit is known, else as a bare number in file units."""
    metres = skeleton.metres_per_unit
    if metres is None:
        return format_number(value)
    m = value * metres
    return f"{format_number(m * 1000, 3, 1000)} mm" if m < _METRES_FROM_M else f"{m:.4g} m"


def _format_residual(problem: Problem, errors: Floats, is_selected: Bools | None = None) -> str:
    """Format the largest remaining distance and angle.

    `which` selects the errors; kinds without an error are left out.
    """
    is_selected = np.ones(len(errors), dtype=np.bool_) if is_selected is None else is_selected
    is_position = np.array([m.kind in LENGTH_KINDS for m in problem.measures], dtype=np.bool_)
    parts: list[str] = []
    if (is_selected & is_position).any():
        parts.append(format_length(problem.skeleton, float(errors[is_selected & is_position].max())))
    if (is_selected & ~is_position).any():
        parts.append(_format_angle(float(errors[is_selected & ~is_position].max())))
    return " and ".join(parts) or "nothing"


def _format_reach_excess(outcome: SolveOutcome) -> str:
    """Format the distance beyond the longest or inside the shortest reach."""
    problem, target = outcome.problem, outcome.target
    number = int(feasibility.find_unreachable(problem, target, outcome.tolerance)[0])
    reach = feasibility.compute_reaches(problem, target)[max(number - 1, 0)]
    skeleton, unit, min_reach, max_reach = problem.skeleton, problem.plan.unit, reach.min_reach, reach.max_reach
    term = problem.plan.layout.terms[reach.term]
    label = f"the target of {skeleton.names[term.row]!r}" if len(problem.goals) > 1 else "the target"
    target_distance = float(reach.distance[0])
    if target_distance > max_reach:
        excess = format_length(skeleton, (target_distance - max_reach) * unit)
        hint = _suggest_unit(outcome, term.column, number)
        return f"{label} is {excess} beyond the longest reach of {format_length(skeleton, max_reach * unit)}{hint}"
    deficit = format_length(skeleton, (min_reach - target_distance) * unit)
    return f"{label} is {deficit} inside the shortest reach of {format_length(skeleton, min_reach * unit)}"


def _suggest_unit(outcome: SolveOutcome, column: int, number: int) -> str:
    """Suggest another unit for a far target. It must bring the target about within reach."""
    problem, target = outcome.problem, outcome.target
    metres = problem.skeleton.metres_per_unit
    reach = feasibility.compute_reaches(problem, target)[max(number - 1, 0)]
    if not reach.max_reach:  # a joint that cannot move has no size for comparison
        return ""
    distance_ratio = float(np.linalg.norm(target[0, column : column + 3])) / (reach.max_reach * problem.plan.unit)
    for unit, factor in _list_other_units(metres):
        if not (distance_ratio > _FAR_REACH_RATIO if factor < 1.0 else distance_ratio < _CLOSE_REACH_RATIO):
            continue
        scaled_target = target.copy()
        scaled_target[:, column : column + 3] *= factor
        ratio = float(
            feasibility.compute_reaches(problem, scaled_target)[max(number - 1, 0)].distance[0] / reach.max_reach
        )
        if ratio > _NEAR_REACH_RATIO:
            continue
        if metres is not None:
            return f" (is it in {unit}? the file's unit is {metres:g} m)"
        return f" ({unit} {'within' if ratio <= 1.0 else 'nearly within'} reach: is it in the unit of the file?)"
    return ""


def _list_other_units(metres: float | None) -> list[tuple[str, float]]:
    """List other units with their sizes in file units. Shares of the unit stand in where it is unknown."""
    if metres is None:
        return [("a hundredth of it is", 0.01), ("a thousandth of it is", 0.001), ("it is, times a hundred,", 100.0)]
    return [(name, size / metres) for name, size in _UNIT_SIZES_M.items() if size != metres]


def _suggest_roots(problem: Problem) -> str:
    """Suggest a free root or `root` for unmoved joints above."""
    skeleton = problem.skeleton
    named = [goal.joint for goal in problem.goals if is_joint_goal(goal)]
    roots = dict.fromkeys(n for joint in named for n in skeleton.ancestors(joint) if skeleton[n].kind == Kind.FREE)
    if roots and not problem.free_root:
        are = "is a free joint" if len(roots) == 1 else "are free joints"
        return f" ({join_names(map(repr, roots))} {are}: free_root=True, or --free-root, lets the whole figure move)"
    unnamed = [g.joint for g in problem.goals if is_joint_goal(g) and not isinstance(g, LookAt) and g.root is None]
    above = dict.fromkeys(name for joint in unnamed for name in skeleton.ancestors(joint))
    still = [n for n in above if skeleton[n].kind not in (Kind.FIXED, Kind.FREE) and n not in problem.joints]
    return f" ({join_names(map(repr, still))} above stood still: name a root to move them, too)" if still else ""


def _format_blocking(outcome: SolveOutcome) -> str:
    """Name the joints blocked by their limits, with the end."""
    optimality, skeleton = (
        measure_local_optimality(outcome.problem, outcome.q, outcome.target),
        outcome.problem.skeleton,
    )
    parts: list[str] = []
    for j in np.flatnonzero(optimality.is_blocking[0]):
        row, bound = optimality.rows[j], skeleton.limits[optimality.rows[j]]
        if isinstance(bound, SwingTwist | EulerBox):
            columns = skeleton.ball_limits.columns[skeleton.ball_limits.joints.index(row)]
            parts.append(f"{skeleton.names[row]} at {describe_active_limits(bound, outcome.q[0, columns])}")
            continue
        (low, high), value = optimality.ranges[j], optimality.values[0, j]
        end, limit = ("lowest", low) if abs(value - low) <= abs(value - high) else ("highest", high)
        is_slide = skeleton.kinds[row] == Kind.SLIDE
        angle = f"{format_number(limit)} rad ({format_number(math.degrees(limit))} deg)"
        amount = format_length(skeleton, limit) if is_slide else angle
        parts.append(f"{skeleton.names[row]} at its {end}, {amount}")
    return "; ".join(parts)


def _format_missing_freedom(problem: Problem) -> str:
    """Compare the required and available degrees of freedom."""
    free, required = len(problem.plan.layout.dofs), problem.plan.layout.target_dofs
    subject, them = ("the goals ask", "them") if len(problem.goals) > 1 else ("the goal asks", "it")
    even = any(isinstance(goal, Place) and goal.rotation_weight == 1.0 for goal in problem.goals)
    way_out = " (rotation_weight=0.01 puts the position first)" if even else ""
    return (
        f"{subject} for {required} degrees of freedom, and the joints have {free}: perhaps no pose meets "
        f"{them}{way_out}"
    )


def _explain_immovable(problem: Problem) -> str:
    """Explain why no joint can move."""
    goal = next(filter(is_joint_goal, problem.goals), None)
    if goal is None:
        return "no joint may move for Balance; name some, such as Balance(joints=['spine'])"
    joint, skeleton = goal.joint, problem.skeleton
    if isinstance(goal, LookAt):
        return f"no joint that looks with {joint!r} can move"
    if is_flat(skeleton.kinds, skeleton.parents):
        return f"no joint above {joint!r} can move ({FLAT_MESSAGE})"
    chain = skeleton.chain(goal.root, joint)
    if chain:
        return f"no joint above {joint!r} can move: {join_names(f'{name} is fixed' for name in chain)}"
    parent = skeleton[joint].parent
    if parent is None:
        advice = " (free_root=True, or --free-root, lets it move)" if _can_be_free(skeleton, joint) else ""
        return f"{joint!r} is a root; nothing stands above it{advice}"
    return f"{parent!r} above {joint!r} leads on to other limbs too; name a root to move it"


def _can_be_free(skeleton: Skeleton, joint: str) -> bool:
    """Return whether a free root would free this joint."""
    try:
        return bool(skeleton.with_free_root().kinds[skeleton.index(joint)] == Kind.FREE)
    except InputError:  # a slide or a hinge
        return False


def _format_angle(value: float) -> str:
    """Format an angle."""
    return f"{math.degrees(value):.3g} deg" if value > _DEGREES_FROM_RAD else f"{format_number(value, 3)} rad"

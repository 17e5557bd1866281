"""Format the outcome of a solve as text. The sentences contain the errors and the reason for a missed goal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, join_names
from poise.formatting import format_number
from poise.maths.arrays import Bools, Floats
from poise.model.joint_tree import FLAT_MESSAGE, is_flat
from poise.model.limit_bounds import describe_active_limits
from poise.model.limits import EulerBox, SwingTwist
from poise.model.skeleton import Kind, Skeleton, find_free_root
from poise.problem import feasibility
from poise.problem.dof_layout import LENGTH_KINDS
from poise.problem.goal_ranges import get_reference
from poise.problem.goals import LookAt, Place, is_joint_goal
from poise.problem.problem import Problem, Tolerance, find_required_goals
from poise.solvers.base.interface import Status
from poise.solving.diagnosis import measure_local_optimality

_MIN_LENGTH_IN_METRES_M = 0.1  # [m] shorter lengths are written in millimetres
_UNIT_SIZES_M = {"centimetres": 0.01, "millimetres": 0.001, "metres": 1.0}  # [m]
# limb lengths: a target farther than the first or nearer than the second to the origin may have another unit
_MIN_WRONG_UNIT_RATIO, _MAX_WRONG_UNIT_RATIO = 10.0, 0.05
# longest reaches: in the suggested unit the target must be nearer, as a root further up may help
_MAX_SUGGESTED_UNIT_RATIO = 1.5
_MIN_ANGLE_IN_DEGREES_RAD = 1e-3  # [rad] larger angles are written in degrees


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
    required_goals = find_required_goals(outcome.problem)
    if required_goals is None:
        return f"reached: every goal is optional, {_format_residual(outcome.problem, outcome.errors)} left"
    is_optional = outcome.problem.optional_columns
    optional_residual = _format_residual(outcome.problem, outcome.errors, is_optional)
    outcome = outcome._replace(
        problem=required_goals.problem,
        target=outcome.target[:, required_goals.target_columns],
        errors=outcome.errors[required_goals.error_columns],
    )
    return f"{_format_status(outcome)}; of optional goals {optional_residual}"


def _format_status(outcome: SolveOutcome) -> str:
    residual, has_several = _format_residual(outcome.problem, outcome.errors), len(outcome.problem.goals) > 1
    if outcome.status == Status.reached:
        return f"reached: {residual} left, {_format_iterations(outcome)}{_format_delay(outcome)}"
    match outcome.status:
        case Status.out_of_reach:
            text = f"out of reach: {_format_reach_excess(outcome)}; {residual} left{_suggest_roots(outcome.problem)}"
        case Status.limited:
            goal_text = "the goals" if has_several else "the target"
            reason = f"a pose without limits meets {goal_text}, none was found within them"
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
        case Status.loops_open:
            return f"loops open: the {'goals are' if has_several else 'goal is'} met, {residual} left"
        case _:
            text = f"{outcome.status.name}: {residual} left, {_format_iterations(outcome)}"
            text += _format_joints_at_limits(outcome) if outcome.status == Status.stalled else ""
    return f"{text}{_format_delay(outcome)}"


def _format_iterations(outcome: SolveOutcome) -> str:
    return f"{outcome.iterations} iteration{'' if outcome.iterations == 1 else 's'}"


def _format_delay(outcome: SolveOutcome) -> str:
    """Name what holds a pose back on its way to the solution."""
    restraints = outcome.restraints
    return f"; still on the way there (held back by {_join_names(restraints)})" if restraints else ""


def format_open_loops(problem: Problem, q: Floats) -> str:
    """Name the loops open in q (1, nq) or at the start."""
    judged, at_start = feasibility.judge_gaps(problem, q), feasibility.judge_start_gaps(problem)
    texts: list[str] = []
    for i in np.flatnonzero(judged.is_open[0] | at_start.is_open[0]).tolist():
        loop = problem.skeleton.loops[i]
        if not judged.is_open[0, i]:
            gap_text = _format_gap(problem.skeleton, at_start, i)
            texts.append(
                f"the loop {loop.name!r} of {loop.a!r} and {loop.b!r}, open by {gap_text} at the start, is closed"
            )
            continue
        gap_text = _format_gap(problem.skeleton, judged, i)
        start_text = (
            f" (at the start by {_format_gap(problem.skeleton, at_start, i)})" if at_start.is_open[0, i] else ""
        )
        texts.append(f"the loop {loop.name!r} of {loop.a!r} and {loop.b!r} is open by {gap_text}{start_text}")
    return "; ".join(texts)


def format_joints_outside(skeleton: Skeleton, q: Floats) -> str:
    """Name joints of a pose q (nq,) outside their limits. "" is none."""
    names = skeleton.legal(q)[1]
    return f"still outside {'its' if len(names) == 1 else 'their'} limits: {join_names(names)}" if names else ""


def _format_gap(skeleton: Skeleton, judged: feasibility.JudgedGaps, i: int) -> str:
    """Format the excessive distance and angle of one loop."""
    texts: list[str] = []
    if judged.has_distance_gap[0, i]:
        texts.append(format_length(skeleton, float(judged.gaps.distances[0, i])))
    if judged.has_angle_gap[0, i]:
        texts.append(_format_angle(float(judged.gaps.angles[0, i])))
    return " and ".join(texts)


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
    joints = [repr(names[problem.measures[i].row]) for i in proved_conflict.measure_indices]
    is_same_joint = len(set(joints[:2])) == 1
    conflict_size = float(proved_conflict.target_difference[0])
    if proved_conflict.kind == "turned":
        gap_text = _format_angle(conflict_size)
        subject = f"the two goals turn {joints[0]}" if is_same_joint else f"the goals turn {joints[0]} and {joints[1]}"
        return (
            f"the goals contradict each other: {subject} to rotations or directions that are {gap_text} too far apart"
        )
    if proved_conflict.kind == "askew":
        gap_text = format_length(problem.skeleton, conflict_size)
        subject = f"the two targets of {joints[0]}" if is_same_joint else f"the targets of {joints[0]} and {joints[1]}"
        return (
            f"the goals contradict each other: {subject} do not fit the rotation wanted of {joints[2]}, by {gap_text}"
        )
    distance_text, possible_text = (
        format_length(problem.skeleton, float(value))
        for value in (conflict_size, proved_conflict.possible_difference[0])
    )
    subject = f"the two targets of {joints[0]}" if is_same_joint else f"the targets of {joints[0]} and {joints[1]}"
    if not proved_conflict.possible_difference[0]:
        return f"the goals contradict each other: {subject} are {distance_text} apart"
    bound_text = (
        f"reach at most {possible_text}"
        if proved_conflict.kind == "far"
        else f"keep them at least {possible_text} apart"
    )
    return (
        f"the goals contradict each other: {subject} are {distance_text} apart, and the bones between them {bound_text}"
    )


def _join_names(names: Iterable[str]) -> str:
    return " and ".join(names)


def format_length(skeleton: Skeleton, value: float) -> str:
    """Format a length. It is written in mm or m where the unit is known, else as a bare number in file units."""
    metres_per_unit = skeleton.metres_per_unit
    if metres_per_unit is None:
        return format_number(value)
    length_m = value * metres_per_unit
    return (
        f"{format_number(length_m * 1000, 3, 1000)} mm" if length_m < _MIN_LENGTH_IN_METRES_M else f"{length_m:.4g} m"
    )


def _format_residual(problem: Problem, errors: Floats, is_selected: Bools | None = None) -> str:
    """Format the largest remaining distance and angle.

    The distance of a relative goal is one of the reference's frame. `is_selected` selects the errors; kinds without an
    error are left out.
    """
    lengths: list[tuple[float, str | None]] = []
    angles: list[float] = []
    for i, (measure, error) in enumerate(zip(problem.measures, errors.tolist(), strict=True)):
        if is_selected is not None and not is_selected[i]:
            continue
        if measure.kind in LENGTH_KINDS:
            lengths.append((error, get_reference(problem.goals[measure.goal_index])))
        else:
            angles.append(error)
    texts: list[str] = []
    if lengths:
        error, reference = max(lengths, key=lambda length: length[0])
        frame_text = "" if reference is None else f" in the frame of {reference!r}"
        texts.append(format_length(problem.skeleton, error) + frame_text)
    if angles:
        texts.append(_format_angle(max(angles)))
    return " and ".join(texts) or "nothing"


def _format_reach_excess(outcome: SolveOutcome) -> str:
    """Format the distance beyond the longest or inside the shortest reach."""
    problem, target = outcome.problem, outcome.target
    reach_number = int(feasibility.find_unreachable(problem, target, outcome.tolerance)[0])
    reach = feasibility.compute_reaches(problem, target)[max(reach_number - 1, 0)]
    skeleton, unit, min_reach, max_reach = (
        problem.skeleton,
        problem.plan.kernel_unit_in_world,
        reach.min_reach,
        reach.max_reach,
    )
    term = problem.plan.layout.terms[reach.term_index]
    label = f"the target of {skeleton.names[term.row]!r}" if len(problem.goals) > 1 else "the target"
    target_distance = float(reach.distance[0])
    if target_distance > max_reach:
        excess = format_length(skeleton, (target_distance - max_reach) * unit)
        hint = _suggest_unit(outcome, term.target_column, reach_number)
        return f"{label} is {excess} beyond the longest reach of {format_length(skeleton, max_reach * unit)}{hint}"
    deficit = format_length(skeleton, (min_reach - target_distance) * unit)
    return f"{label} is {deficit} inside the shortest reach of {format_length(skeleton, min_reach * unit)}"


def _suggest_unit(outcome: SolveOutcome, column: int, reach_number: int) -> str:
    """Suggest another unit for a far target. It must bring the target about within reach."""
    problem, target = outcome.problem, outcome.target
    metres_per_unit = problem.skeleton.metres_per_unit
    reach = feasibility.compute_reaches(problem, target)[max(reach_number - 1, 0)]
    if not reach.max_reach:  # a joint that cannot move has no size for comparison
        return ""
    distance_ratio = float(np.linalg.norm(target[0, column : column + 3])) / (
        reach.max_reach * problem.plan.kernel_unit_in_world
    )
    for unit, unit_ratio in _list_other_units(metres_per_unit):
        if not (distance_ratio > _MIN_WRONG_UNIT_RATIO if unit_ratio < 1.0 else distance_ratio < _MAX_WRONG_UNIT_RATIO):
            continue
        scaled_target = target.copy()
        scaled_target[:, column : column + 3] *= unit_ratio
        scaled_ratio = float(
            feasibility.compute_reaches(problem, scaled_target)[max(reach_number - 1, 0)].distance[0] / reach.max_reach
        )
        if scaled_ratio > _MAX_SUGGESTED_UNIT_RATIO:
            continue
        if metres_per_unit is not None:
            return f" (is it in {unit}? the file's unit is {metres_per_unit:g} m)"
        return f" ({unit} {'within' if scaled_ratio <= 1.0 else 'nearly within'} reach: is it in the unit of the file?)"
    return ""


def _list_other_units(metres_per_unit: float | None) -> list[tuple[str, float]]:
    """List other units with their ratios to the file's unit. Without a known unit, shares of it stand in."""
    if metres_per_unit is None:
        return [("a hundredth of it is", 0.01), ("a thousandth of it is", 0.001), ("it is, times a hundred,", 100.0)]
    return [(name, size / metres_per_unit) for name, size in _UNIT_SIZES_M.items() if size != metres_per_unit]


def _suggest_roots(problem: Problem) -> str:
    """Suggest a free root or `root` for unmoved joints above.

    A relative goal has none: the joints above the common ancestor move both sides alike.
    """
    skeleton = problem.skeleton
    world_goals = [goal for goal in problem.goals if is_joint_goal(goal) and get_reference(goal) is None]
    goal_joints = [goal.joint for goal in world_goals]
    rows_below = [skeleton.index(joint) for joint in goal_joints if skeleton.ancestors(joint)]
    free_rows = [find_free_root(skeleton, row) for row in rows_below]
    roots = dict.fromkeys(skeleton.names[row] for row in free_rows if row is not None)
    if roots and not problem.free_root:
        verb_text = "is a free joint" if len(roots) == 1 else "are free joints"
        return (
            f" ({join_names(map(repr, roots))} {verb_text}: free_root=True, or --free-root, lets the whole figure move)"
        )
    rootless_joints = [goal.joint for goal in world_goals if not isinstance(goal, LookAt) and goal.root is None]
    ancestor_names = dict.fromkeys(name for joint in rootless_joints for name in skeleton.ancestors(joint))
    unmoved_names = [
        n for n in ancestor_names if skeleton[n].kind not in (Kind.FIXED, Kind.FREE) and n not in problem.joints
    ]
    return (
        f" ({join_names(map(repr, unmoved_names))} above stood still: name a root to move them, too)"
        if unmoved_names
        else ""
    )


def _format_blocking(outcome: SolveOutcome) -> str:
    """Name the joints blocked by their limits, with the end."""
    optimality, skeleton = (
        measure_local_optimality(outcome.problem, outcome.q, outcome.target),
        outcome.problem.skeleton,
    )
    texts: list[str] = []
    for j in np.flatnonzero(optimality.is_blocking[0]):
        row, joint_limit = optimality.joint_rows[j], skeleton.limits[optimality.joint_rows[j]]
        if isinstance(joint_limit, SwingTwist | EulerBox):
            columns = skeleton.ball_limits.columns[skeleton.ball_limits.joint_rows.index(row)]
            texts.append(f"{skeleton.names[row]} at {describe_active_limits(joint_limit, outcome.q[0, columns])}")
            continue
        (low, high), value = optimality.joint_ranges[j], optimality.joint_values[0, j]
        end, end_value = ("lowest", low) if abs(value - low) <= abs(value - high) else ("highest", high)
        is_slide = skeleton.kinds[row] == Kind.SLIDE
        angle_text = f"{format_number(end_value)} rad ({format_number(math.degrees(end_value))} deg)"
        value_text = format_length(skeleton, end_value) if is_slide else angle_text
        texts.append(f"{skeleton.names[row]} at its {end}, {value_text}")
    return "; ".join(texts)


def _format_missing_freedom(problem: Problem) -> str:
    """Compare the required and available degrees of freedom."""
    joint_dofs, target_dofs = len(problem.plan.layout.dofs), problem.plan.layout.target_dofs
    subject, pronoun = ("the goals ask", "them") if len(problem.goals) > 1 else ("the goal asks", "it")
    has_equal_weights = any(isinstance(goal, Place) and goal.rotation_weight == 1.0 for goal in problem.goals)
    advice = " (rotation_weight=0.01 puts the position first)" if has_equal_weights else ""
    return (
        f"{subject} for {target_dofs} degrees of freedom, and the joints have {joint_dofs}: perhaps no pose meets "
        f"{pronoun}{advice}"
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


def _format_angle(angle: float) -> str:
    """Format an angle."""
    return f"{math.degrees(angle):.3g} deg" if angle > _MIN_ANGLE_IN_DEGREES_RAD else f"{format_number(angle, 3)} rad"

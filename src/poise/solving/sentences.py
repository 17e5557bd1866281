"""Format the outcome of a solve as text. The sentences contain the errors and the reason for a missed goal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from poise.errors import InputError, listed
from poise.maths.arrays import Bools, Floats
from poise.maths.in_words import write_number
from poise.model.limits import EulerBox, SwingTwist
from poise.model.limits.base.rows import edges
from poise.model.skeleton import Kind, Skeleton
from poise.model.ways import FLAT, is_flat
from poise.problem.conflicts import find_conflicts
from poise.problem.goals import LookAt, Place, is_of_joint
from poise.problem.layout import LENGTHS
from poise.problem.loops import Gap, gaps_of, gaps_of_start
from poise.problem.problem import Problem, Tolerance
from poise.problem.ranking import required_of
from poise.problem.reach import beyond_reach, reaches
from poise.solvers.base.status import Status
from poise.solving.judge import standing

_METRE_FROM = 0.1  # [m] shorter lengths are written in millimetres
_UNITS = {"centimetres": 0.01, "millimetres": 0.001, "metres": 1.0}  # [m]
# limb lengths: a target farther than the first or nearer than the second to the origin may have another unit
_FAR, _CLOSE = 10.0, 0.05
# longest reaches: in the suggested unit the target must be nearer, as a root further up may help
_NEARLY = 1.5
_SMALL_ANGLE = 1e-3  # [rad] larger angles are written in degrees


class Ended(NamedTuple):
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
    held: tuple[str, ...] = ()
    pose: str = ""


def sentence(ended: Ended) -> str:
    """Format the outcome and its reason."""
    return f"{_of_goals(ended)}; {ended.pose}" if ended.pose else _of_goals(ended)


def _of_goals(ended: Ended) -> str:
    if not ended.problem.ranked:
        return _sentence(ended)
    needed = required_of(ended.problem)
    if needed is None:
        return f"reached: every goal is optional, {_left(ended.problem, ended.errors)} left"
    spared = ended.problem.spared
    of_spared = _left(ended.problem, ended.errors, spared)
    ended = ended._replace(
        problem=needed.problem, target=ended.target[:, needed.targets], errors=ended.errors[needed.errors]
    )
    return f"{_sentence(ended)}; of optional goals {of_spared}"


def _sentence(ended: Ended) -> str:
    left, several = _left(ended.problem, ended.errors), len(ended.problem.goals) > 1
    match ended.status:
        case Status.out_of_reach:
            said = f"out of reach: {_beyond(ended)}; {left} left{_left_out(ended.problem)}"
        case Status.limited:
            met = "the goals" if several else "the target"
            found = f"a pose without limits meets {met}, none was found within them"
            said = f"limited: {found}; {left} left; {_blocking(ended)}"
        case Status.nothing_to_move:
            said = f"nothing to move: {_immovable(ended.problem)}, {left} left"
        case Status.over_constrained:
            said = (
                f"over-constrained: {_too_few(ended.problem)}; {left} left{_left_out(ended.problem)}{_at_limits(ended)}"
            )
        case Status.contradictory:
            said = f"contradictory: {_conflict(ended)}; {left} left{_at_limits(ended)}"
        case Status.held_back:
            return f"held back: as near as {_series(f'{name}=' for name in ended.held)} lets it; {left} left"
        case Status.on_the_way:
            return f"on the way (held back by {_series(ended.held)}): {left} left"
        case Status.open_loop:
            return f"open loop: the {'goals are' if several else 'goal is'} met, {left} left"
        case _:
            took = f"{ended.iterations} iteration{'' if ended.iterations == 1 else 's'}"
            said = f"{ended.status.name}: {left} left, {took}"
            said += _at_limits(ended) if ended.status == Status.stalled else ""
    return f"{said}; still on the way there (held back by {_series(ended.held)})" if ended.held else said


def loops_in_words(problem: Problem, q: Floats, tolerance: Tolerance) -> str:
    """Name open loops of a pose q (1, nq) with their gaps."""
    parts: list[str] = []
    for gap, before in zip(gaps_of(problem, q), gaps_of_start(problem), strict=True):
        if not gap.is_open(tolerance)[0]:
            continue
        ends = " and ".join("the world" if joint is None else repr(joint) for joint in gap.loop.joints)
        said = f"the loop {gap.loop.name!r} of {ends} is open by {_gap(problem.skeleton, gap, tolerance)}"
        was = f" (at the start by {_gap(problem.skeleton, before, tolerance)})" if before.is_open(tolerance)[0] else ""
        parts.append(said + was)
    return "; ".join(parts)


def outside_in_words(skeleton: Skeleton, q: Floats) -> str:
    """Name joints of a pose q (nq,) outside their limits. "" is none."""
    names = skeleton.legal(q)[1]
    return f"still outside {'its' if len(names) == 1 else 'their'} limits: {listed(names)}" if names else ""


def _gap(skeleton: Skeleton, gap: Gap, tolerance: Tolerance) -> str:
    """Format the excessive distance and angle of a gap."""
    parts = [length_in_words(skeleton, float(gap.distance[0]))] if gap.is_apart(tolerance)[0] else []
    return " and ".join([*parts, _angle(float(gap.angle[0]))] if gap.is_turned(tolerance)[0] else parts)


def _at_limits(ended: Ended) -> str:
    """Name joints at their limits at a local optimum. This is an observation, not a reason."""
    stands = standing(ended.problem, ended.q, ended.target)
    return f"; {_blocking(ended)}" if stands.stationary[0] and stands.blocks[0].any() else ""


def _conflict(ended: Ended) -> str:
    """Name conflicting goals and the amount of the conflict."""
    problem, names = ended.problem, ended.problem.skeleton.names
    found = find_conflicts(problem, ended.q, ended.target, ended.tolerance)
    proved = next((conflict for conflict in found if conflict.over[0] > 0.0), None)
    if proved is None:
        return "each goal alone is met, and no pose was found that meets all of them"
    joints = [repr(names[problem.measures[i].row]) for i in proved.measures]
    same = len(set(joints[:2])) == 1
    wanted = float(proved.wanted[0])
    if proved.kind == "turned":
        off = _angle(wanted)
        which = f"the two goals turn {joints[0]}" if same else f"the goals turn {joints[0]} and {joints[1]}"
        return f"the goals contradict each other: {which} to rotations or directions that are {off} too far apart"
    if proved.kind == "askew":
        off = length_in_words(problem.skeleton, wanted)
        which = f"the two targets of {joints[0]}" if same else f"the targets of {joints[0]} and {joints[1]}"
        return f"the goals contradict each other: {which} do not fit the rotation wanted of {joints[2]}, by {off}"
    apart, possible = (length_in_words(problem.skeleton, float(value)) for value in (wanted, proved.possible[0]))
    which = f"the two targets of {joints[0]}" if same else f"the targets of {joints[0]} and {joints[1]}"
    if not proved.possible[0]:
        return f"the goals contradict each other: {which} are {apart} apart"
    ends = f"reach at most {possible}" if proved.kind == "far" else f"keep them at least {possible} apart"
    return f"the goals contradict each other: {which} are {apart} apart, and the bones between them {ends}"


def _series(names: Iterable[str]) -> str:
    return " and ".join(names)


def length_in_words(skeleton: Skeleton, value: float) -> str:
    """Format a length. It is written in mm or m where the unit is known, else as a bare number in file units."""
    metres = skeleton.metres_per_unit
    if metres is None:
        return write_number(value)
    m = value * metres
    return f"{write_number(m * 1000, 3, 1000)} mm" if m < _METRE_FROM else f"{m:.4g} m"


def _left(problem: Problem, errors: Floats, which: Bools | None = None) -> str:
    """Format the largest remaining distance and angle.

    `which` selects the errors; kinds without an error are left out.
    """
    which = np.ones(len(errors), dtype=np.bool_) if which is None else which
    is_position = np.array([m.kind in LENGTHS for m in problem.measures], dtype=np.bool_)
    parts: list[str] = []
    if (which & is_position).any():
        parts.append(length_in_words(problem.skeleton, float(errors[which & is_position].max())))
    if (which & ~is_position).any():
        parts.append(_angle(float(errors[which & ~is_position].max())))
    return " and ".join(parts) or "nothing"


def _beyond(ended: Ended) -> str:
    """Format the distance beyond the longest or inside the shortest reach."""
    problem, target = ended.problem, ended.target
    number = int(beyond_reach(problem, target, ended.tolerance)[0])
    reach = reaches(problem, target)[max(number - 1, 0)]
    skeleton, unit, shortest, longest = problem.skeleton, problem.plan.unit, reach.shortest, reach.longest
    term = problem.plan.layout.terms[reach.term]
    what = f"the target of {skeleton.names[term.row]!r}" if len(problem.goals) > 1 else "the target"
    wanted = float(reach.wanted[0])
    if wanted > longest:
        beyond = length_in_words(skeleton, (wanted - longest) * unit)
        meant = _unit_meant(ended, term.column, number)
        return f"{what} is {beyond} beyond the longest reach of {length_in_words(skeleton, longest * unit)}{meant}"
    inside = length_in_words(skeleton, (shortest - wanted) * unit)
    return f"{what} is {inside} inside the shortest reach of {length_in_words(skeleton, shortest * unit)}"


def _unit_meant(ended: Ended, column: int, number: int) -> str:
    """Suggest another unit for a far target. It must bring the target about within reach."""
    problem, target = ended.problem, ended.target
    metres = problem.skeleton.metres_per_unit
    reach = reaches(problem, target)[max(number - 1, 0)]
    if not reach.longest:  # a joint that cannot move has no size for comparison
        return ""
    point = float(np.linalg.norm(target[0, column : column + 3])) / (reach.longest * problem.plan.unit)
    for share, factor in _units(metres):
        if not (point > _FAR if factor < 1.0 else point < _CLOSE):
            continue
        scaled = target.copy()
        scaled[:, column : column + 3] *= factor
        times = float(reaches(problem, scaled)[max(number - 1, 0)].wanted[0] / reach.longest)
        if times > _NEARLY:
            continue
        if metres is not None:
            return f" (is it in {share}? the file's unit is {metres:g} m)"
        return f" ({share} {'within' if times <= 1.0 else 'nearly within'} reach: is it in the unit of the file?)"
    return ""


def _units(metres: float | None) -> list[tuple[str, float]]:
    """List other units with their sizes in file units. Shares of the unit stand in where it is unknown."""
    if metres is None:
        return [("a hundredth of it is", 0.01), ("a thousandth of it is", 0.001), ("it is, times a hundred,", 100.0)]
    return [(name, size / metres) for name, size in _UNITS.items() if size != metres]


def _left_out(problem: Problem) -> str:
    """Suggest a free root or `root` for unmoved joints above."""
    skeleton = problem.skeleton
    named = [goal.joint for goal in problem.goals if is_of_joint(goal)]
    roots = dict.fromkeys(n for joint in named for n in skeleton.ancestors(joint) if skeleton[n].kind == Kind.FREE)
    if roots and not problem.free_root:
        are = "is a free joint" if len(roots) == 1 else "are free joints"
        return f" ({listed(map(repr, roots))} {are}: free_root=True, or --free-root, lets the whole figure move)"
    unnamed = [g.joint for g in problem.goals if is_of_joint(g) and not isinstance(g, LookAt) and g.root is None]
    above = dict.fromkeys(name for joint in unnamed for name in skeleton.ancestors(joint))
    still = [n for n in above if skeleton[n].kind not in (Kind.FIXED, Kind.FREE) and n not in problem.joints]
    return f" ({listed(map(repr, still))} above stood still: name a root to move them, too)" if still else ""


def _blocking(ended: Ended) -> str:
    """Name the joints blocked by their limits, with the end."""
    stands, skeleton = standing(ended.problem, ended.q, ended.target), ended.problem.skeleton
    parts: list[str] = []
    for j in np.flatnonzero(stands.blocks[0]):
        row, bound = stands.rows[j], skeleton.limits[stands.rows[j]]
        if isinstance(bound, SwingTwist | EulerBox):
            turn = skeleton.ball_limits.columns[skeleton.ball_limits.joints.index(row)]
            parts.append(f"{skeleton.names[row]} at {edges(bound, ended.q[0, turn])}")
            continue
        (low, high), value = stands.ranges[j], stands.values[0, j]
        end, limit = ("lowest", low) if abs(value - low) <= abs(value - high) else ("highest", high)
        is_slide = skeleton.kinds[row] == Kind.SLIDE
        angle = f"{write_number(limit)} rad ({write_number(math.degrees(limit))} deg)"
        amount = length_in_words(skeleton, limit) if is_slide else angle
        parts.append(f"{skeleton.names[row]} at its {end}, {amount}")
    return "; ".join(parts)


def _too_few(problem: Problem) -> str:
    """Compare the required and available degrees of freedom."""
    free, asked = len(problem.plan.layout.dofs), problem.plan.layout.asked
    what, them = ("the goals ask", "them") if len(problem.goals) > 1 else ("the goal asks", "it")
    even = any(isinstance(goal, Place) and goal.rotation_weight == 1.0 for goal in problem.goals)
    way_out = " (rotation_weight=0.01 puts the position first)" if even else ""
    return f"{what} for {asked} degrees of freedom, and the joints have {free}: perhaps no pose meets {them}{way_out}"


def _immovable(problem: Problem) -> str:
    """Explain why no joint can move."""
    goal = next(filter(is_of_joint, problem.goals), None)
    if goal is None:
        return "no joint may move for Balance; name some, such as Balance(joints=['spine'])"
    joint, skeleton = goal.joint, problem.skeleton
    if isinstance(goal, LookAt):
        return f"no joint that looks with {joint!r} can move"
    if is_flat(skeleton.kinds, skeleton.parents):
        return f"no joint above {joint!r} can move ({FLAT})"
    chain = skeleton.chain(goal.root, joint)
    if chain:
        return f"no joint above {joint!r} can move: {listed(f'{name} is fixed' for name in chain)}"
    parent = skeleton[joint].parent
    if parent is None:
        way_out = " (free_root=True, or --free-root, lets it move)" if _could_be_free(skeleton, joint) else ""
        return f"{joint!r} is a root; nothing stands above it{way_out}"
    return f"{parent!r} above {joint!r} leads on to other limbs too; name a root to move it"


def _could_be_free(skeleton: Skeleton, joint: str) -> bool:
    """Return whether a free root would free this joint."""
    try:
        return bool(skeleton.with_free_root().kinds[skeleton.index(joint)] == Kind.FREE)
    except InputError:  # a slide or a hinge
        return False


def _angle(value: float) -> str:
    """Format an angle."""
    return f"{math.degrees(value):.3g} deg" if value > _SMALL_ANGLE else f"{write_number(value, 3)} rad"

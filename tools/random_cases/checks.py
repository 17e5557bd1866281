"""What every answer must hold. A fault is a short name of a promise, and what broke it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import poise
from poise import Kind, Range, Status
from poise.problem.arm_packing import find_arm
from random_cases.kinematics import errors_of, value_of
from random_cases.problems import KNOWN, ROWS, RequestedProblem

Fault = tuple[str, str]
BITS = ("q", "errors", "codes", "iterations")
NEAR = 1e-6  # of a tolerance: this near to it both words are right


def faults_of(requested: RequestedProblem, solvers: tuple[str, ...], *, forms: bool) -> Iterator[Fault]:
    """Everything that is wrong with the answers of some solvers; `forms`: also with the other ways of asking."""
    for name in solvers:
        before = [np.array(goal.rows()) for goal in requested.goals if goal.width]
        q = np.array(requested.start.q)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result = poise.solve(requested.start, requested.goals, solver=name, **requested.how)
                yield from (_reported(name, fault) for fault in _answer(requested, result))
                if forms:
                    yield from (_reported(name, fault) for fault in _forms(requested, result, name))
        except poise.UnsupportedError as refusal:
            if len(str(refusal)) < 10:
                yield "a refusal without a sentence", f"{name}: {refusal!r}"
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what is looked for)
            yield f"exception {type(error).__name__}", f"{name}: {error}"
        after = [np.array(goal.rows()) for goal in requested.goals if goal.width]
        if not np.array_equal(q, requested.start.q) or any(
            not np.array_equal(a, b) for a, b in zip(before, after, strict=True)
        ):
            yield "an input was written to", name


def _reported(name: str, fault: Fault) -> Fault:
    return fault[0], f"{name}: {fault[1]}"


def _answer(requested: RequestedProblem, result: poise.Result) -> Iterator[Fault]:
    """Errors, limits, statuses of a batch."""
    start, q = requested.start, result.q
    measured = [goal for goal in requested.goals if not isinstance(goal, poise.Near)]
    rows = [
        np.broadcast_to(g.rows(), (len(q), g.width)) if g.width else _pinned(g, requested, len(q)) for g in measured
    ]
    parts = [errors_of(goal, start, q, row) for goal, row in zip(measured, rows, strict=True)]
    errors, reported = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    off = np.abs(errors - result.errors.reshape(errors.shape)) > reported
    if off.any():
        i = np.argwhere(off)[0]
        yield "an error is wrong", f"{result.errors[tuple(i)]!r}, not {errors[tuple(i)]!r}, of {measured}"
    kinds = [measure for goal in measured for measure in goal.measures]
    allowed = np.array([requested.how["tolerance" if kind == "position" else "angle_tolerance"] for kind in kinds])
    slack = np.where(np.isfinite(reported), reported, 0.0) + NEAR * allowed
    vague = np.isinf(reported).any(axis=1)
    sure, never = (errors <= allowed - slack).all(axis=1) & ~vague, (errors > allowed + slack).any(axis=1) & ~vague
    reached = np.ravel(result.reached)
    if (sure & ~reached).any() or (never & reached).any():
        yield "reached disagrees with the errors", f"{reached} {errors.tolist()} {allowed.tolist()}"
    yield from _limits(requested, result, q)
    yield from _statuses(requested, result, q)


def _pinned(goal: Any, requested: RequestedProblem, count: int) -> Any:
    """A pin as a target: where its joint is at the start."""
    at = requested.start.world[goal.joint]
    parts = {"position": at.positions, "rotation": at.rotations}
    return np.tile(np.concatenate([parts[measure] for measure in goal.measures]), (count, 1))


def _limits(requested: RequestedProblem, result: poise.Result, q: Any) -> Iterator[Fault]:
    s = requested.start.skeleton
    if not result.violation <= 1e-9 * max(1.0, requested.unit):
        yield "a limit is exceeded", f"by {result.violation:g}"
    for row, (limit, kind) in enumerate(zip(s.limits, s.kinds, strict=True)):
        if not isinstance(limit, Range) or limit.soft:
            continue
        at = int(s.q_start[row]) + (3 if kind == Kind.FREE else 0)
        if limit.axis is None:
            size, values = (requested.unit if kind == Kind.SLIDE else 1.0), value_of(s, row, q)
            off = np.maximum(limit.low - values, values - limit.high).max() / size
        else:
            axis = np.array(limit.axis)
            along = q[:, at + 1 : at + 4] @ axis
            across = np.sqrt(((q[:, at + 1 : at + 4] - along[:, None] * axis) ** 2).sum(axis=1)).max()
            off = 2 * across
            if np.isfinite(limit.low) and np.isfinite(limit.high):  # modulo a turn one end alone is none
                over = np.mod(2 * np.arctan2(along, q[:, at]) - limit.low, 2 * np.pi)
                wide = limit.high - limit.low
                off = max(off, np.where(over <= wide, 0.0, np.minimum(over - wide, 2 * np.pi - over)).max())
        if off > 2e-9:
            yield "a range is exceeded", f"{s.names[row]} by {off:g} ({limit})"


def _statuses(requested: RequestedProblem, result: poise.Result, q: Any) -> Iterator[Fault]:
    codes = np.ravel(result.codes)
    if len(requested.known) and (codes[:KNOWN] == Status.out_of_reach).any():
        yield "out of reach, though a pose is known that meets the goals", result.message(int(np.argmax(codes == 1)))
    if ((codes == Status.nothing_to_move) & bool(result.problem.joints)).any():
        yield "nothing to move, though joints can", str(result.problem.joints)
    if not result.problem.joints and not np.isin(codes, (Status.reached, Status.nothing_to_move)).all():
        yield "joints are said to move that cannot", str(codes)
    for i in range(ROWS):
        sentence = result.message(i)
        if Status(int(codes[i])) == Status.limited:
            named = [name for name in _movers(result.problem) if f"{name} at " in sentence]
            if not named:
                yield "limited, though no joint at a limit is named", sentence
            yield from (
                ("a joint is said to be at a limit", sentence) for name in named if _is_free(requested, name, q[i])
            )
        if "nan" in sentence:
            yield "a message with nan", sentence


def _movers(problem: Any) -> list[str]:
    """The joints that move, and those whose numbers they follow, which may stand on no way to a goal."""
    skeleton = problem.skeleton
    followed = [skeleton[name].coupling for name in problem.joints]
    leaders = [skeleton.names[coupling.leader] for coupling in followed if coupling]
    return list(dict.fromkeys([*problem.joints, *leaders]))


def _is_free(requested: RequestedProblem, name: str, q: Any) -> bool:
    """Whether a hinge or slide stands clear of the ends of its range, and of those of all that share its number."""
    s = requested.start.skeleton
    row = s.index(name)
    if s.kinds[row] not in (Kind.HINGE, Kind.SLIDE):
        return False
    ends: list[float] = []
    for other, limit in enumerate(s.limits):
        if s.q_start[other] == s.q_start[row] and s.kinds[other] == s.kinds[row] and isinstance(limit, Range):
            value = float(value_of(s, other, q))
            ends += [abs(value - limit.low), abs(value - limit.high)]
    return min(ends, default=np.inf) > 1e-6 * (requested.unit if s.kinds[row] == Kind.SLIDE else 1.0)


def _forms(requested: RequestedProblem, result: poise.Result, name: str) -> Iterator[Fault]:
    """One target as one of the batch, prepared as fresh, from a batch of starts; a tracker's errors and limits."""
    row = 1
    one = poise.solve(requested.start, requested.rows(row), solver=name, **requested.how)
    raced = find_arm(result.problem) is not None  # a lone target of a serial arm starts from many places
    for bits in () if raced else BITS:
        if not np.array_equal(getattr(one, bits), getattr(result, bits)[row]):
            yield "one target is not as in a batch", f"{bits}: {getattr(one, bits)} {getattr(result, bits)[row]}"
            break
    prepared = poise.prepare(requested.start, requested.rows(0), solver=name, **requested.how)
    again = prepared(requested.targets(row))
    for bits in BITS:
        if not np.array_equal(getattr(one, bits), getattr(again, bits)):
            yield "prepared is not as fresh", f"{bits}: {getattr(one, bits)} {getattr(again, bits)}"
            break
    starts = poise.Pose(requested.start.skeleton, np.tile(requested.start.q, (ROWS, 1)), requested.start.translations,
                        requested.start.scales)  # fmt: skip
    many = poise.solve(starts, requested.goals, solver=name, **requested.how)
    for bits in BITS:
        if not np.array_equal(getattr(many, bits), getattr(result, bits)):
            yield "a batch of starts is not as one start", bits
            break
    tracker = poise.Tracker(requested.start, requested.rows(0), solver=name, **requested.how)
    for i in range(ROWS):
        step = tracker(requested.targets(i))
        if not step.violation <= 1e-9 * max(1.0, requested.unit):
            yield "a tracker leaves a limit", f"{step.violation:g}"

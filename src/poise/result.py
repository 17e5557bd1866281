"""The answer and its judge. Errors are measured by forward kinematics; the solver's word counts for nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np

from poise import kernels
from poise.arrays import Bools, Floats, Ints
from poise.errors import InputError, NotReachedError, listed
from poise.goals import Goal
from poise.legal import violation
from poise.pose import Pose
from poise.problem import Chain
from poise.skeleton import Kind

_ROUNDING = 1e-9  # of the tolerance: the kernel's error and the judge's differ by rounding only
_STATIONARY = 1e-3  # no single joint could lower the error by more than this share


class Status(IntEnum):
    """How a solve ended. The codes are stable; `Result.message()` is the sentence with figures."""

    reached = 0
    out_of_reach = 1
    limited = 2
    stalled = 3
    nothing_to_move = 4

    @property
    def sentence(self) -> str:
        """What the status means."""
        return _SENTENCES[self]

    def __str__(self) -> str:
        return self.name


_SENTENCES = {
    Status.reached: "every goal is met within the tolerance",
    Status.out_of_reach: "the target is farther away than the chain is long, or nearer than it can fold",
    Status.limited: "joint limits keep the goal away: no joint can come nearer without leaving its range",
    Status.stalled: "the iterations ran out, or stopped gaining, before the goal was met",
    Status.nothing_to_move: "the goal is not met and no joint of the chain can move",
}


class Trace(NamedTuple):
    """Error (sweeps + 1,) [file units] and q (sweeps + 1, nq) at the start and after each iteration.

    Restarts stand in it too, so errors can rise; the answer is the row with the least error. Where the rig's
    scale is not quite uniform, errors are those of the chain as the solver saw it.
    """

    errors: Floats
    q: Floats


class Answer(NamedTuple):
    """What a solver hands to the judge: motions x (k, m, 4) of the chain's links and its counts (k,)."""

    x: Floats
    moved: Bools
    iterations: Ints
    joint_updates: Ints
    trace: Trace | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """The answer to a solve; leading axes are a batch.

    pose           the best pose found; the start itself where it met the goal already
    errors         (..., goals) distance left [file units], by forward kinematics
    codes          (...) Status codes
    iterations     (...) sweeps done, over all solves where scale that is not quite uniform took several
    joint_updates  (...) single joint adjustments done
    seconds        time of the whole solve, judging included
    solver         its name
    tolerance      largest error that counts as reached [file units]
    moved_inside   joints whose start was outside its limits and was moved inside first
    violation      largest amount by which any limit is exceeded [rad, file units]; at most 1e-9
    trace          error and q per iteration, if asked for
    chain, x       the packed chain and the solver's motions of it, for what `message` says
    parts          the results one by one, where each pose of a batch needed a chain of its own
    """

    pose: Pose
    goals: tuple[Goal, ...]
    errors: Floats
    codes: Ints
    iterations: Ints
    joint_updates: Ints
    seconds: float
    solver: str
    tolerance: float
    moved_inside: tuple[str, ...]
    violation: float
    chain: Chain
    x: Floats
    trace: Trace | None = None
    parts: tuple[Result, ...] = ()

    @property
    def reached(self) -> bool | Bools:
        """Whether every goal is met; an array for a batch."""
        reached = self.codes == Status.reached
        return reached if self.codes.ndim else bool(reached)

    @property
    def status(self) -> Status | Ints:
        """The Status; for a batch the array of codes, `Status(code)` gives the name."""
        return self.codes if self.codes.ndim else Status(int(self.codes))

    def __bool__(self) -> bool:
        if self.codes.ndim:
            raise InputError("a batch of results is neither true nor false; use result.reached.all() or .any()")
        return bool(self.reached)

    def __len__(self) -> int:
        if not self.codes.ndim:
            message = "a single result has no length; a batch of results has"
            raise TypeError(message)
        return len(self.codes)

    def require(self) -> Self:
        """Return the result itself, or raise NotReachedError with the sentence of the first goal that was missed."""
        missed = np.flatnonzero(self.codes.ravel() != Status.reached)
        if len(missed):
            which = f"target {missed[0]}: " if self.codes.ndim else ""
            raise NotReachedError(which + self.message(int(missed[0])))
        return self

    def message(self, i: int = 0) -> str:
        """Say how the solve (of a batch: number i) ended, with figures."""
        if self.parts:
            return self.parts[i].message()
        status = Status(int(self.codes.ravel()[i]))
        left = self.length(float(self.errors.reshape(-1, self.errors.shape[-1])[i].max()))
        if status == Status.out_of_reach:
            return f"out of reach: the target is {self._beyond(i)}; {left} left"
        if status == Status.limited:
            return f"limited: limits keep the target away, {left} left; {self._blocking(i)}"
        if status == Status.nothing_to_move:
            return f"nothing to move: {self._immovable()}, {left} left"
        count = int(self.iterations.ravel()[i])
        return f"{status.name}: {left} left, {count} iteration{'' if count == 1 else 's'}"

    def __str__(self) -> str:
        if self.codes.ndim:
            done = int((self.codes == Status.reached).sum())
            per = self.seconds / max(self.codes.size, 1) * 1e6
            return f"{done} of {self.codes.size} reached, {per:.3g} us each ({self.solver})"
        return f"{self.message()}, {self.seconds * 1e6:.0f} us ({self.solver})"

    def length(self, value: float) -> str:
        """Write a length: mm, cm or m where the unit is known, else a bare number in file units."""
        metres = self.pose.skeleton.metres_per_unit
        if metres is None:
            return f"{value:.4g}"
        m = value * metres
        return f"{m * 1000:.3g} mm" if m < 0.1 else f"{m:.4g} m"  # noqa: PLR2004

    def _beyond(self, i: int) -> str:
        shortest, longest, distance = _reaches(self.chain, self._targets())
        i_chain = min(i, len(longest) - 1)
        unit = self.chain.unit[min(i, len(self.chain.unit) - 1)]
        if distance[i] > longest[i_chain]:
            beyond = self.length(float((distance[i] - longest[i_chain]) * unit))
            return f"{beyond} beyond the longest reach of {self.length(float(longest[i_chain] * unit))}"
        inside = self.length(float((shortest[i_chain] - distance[i]) * unit))
        return f"{inside} inside the shortest reach of {self.length(float(shortest[i_chain] * unit))}"

    def _blocking(self, i: int) -> str:
        """Name the joints that their limits keep, each with the end it is at."""
        blocks = _probe(self.chain, self._targets()[i : i + 1], self.x[i : i + 1])[2][0]
        parts: list[str] = []
        for j in np.flatnonzero(blocks):
            link, (low, high) = self.chain.links[j], self.chain.ranges[j]
            value = self.x[i, j, 0]
            end, limit = ("lowest", low) if abs(value - low) <= abs(value - high) else ("highest", high)
            is_slide = self.pose.skeleton.kinds[link.row] == Kind.SLIDE
            amount = self.length(limit) if is_slide else f"{limit:.4g} rad ({math.degrees(limit):.4g} deg)"
            parts.append(f"{self.pose.skeleton.names[link.row]} at its {end}, {amount}")
        return "; ".join(parts)

    def _immovable(self) -> str:
        joint, skeleton = self.goals[0].joint, self.pose.skeleton
        chain = skeleton.chain(self.goals[0].root, joint)
        if chain:
            return f"no joint above {joint!r} can move: {listed(f'{name} is fixed' for name in chain)}"
        parent = skeleton[joint].parent
        if parent is None:
            return f"{joint!r} is a root; nothing stands above it"
        return f"{parent!r} above {joint!r} leads on to other limbs too; name a root to move it"

    def _targets(self) -> Floats:
        return kernel_targets(self.chain, self.goals[0], len(self.x))


def kernel_targets(chain: Chain, goal: Goal, k: int) -> Floats:
    """The goal's targets (k, 3) as the kernels want them."""
    return np.ascontiguousarray(np.broadcast_to(chain.to_kernel(goal.target.reshape(-1, 3)), (k, 3)))


def judge(chain: Chain, goal: Goal, q: Floats, answer: Answer, tolerance: float) -> tuple[Pose, Floats, Ints, float]:
    """Measure a solver's answer: the pose, errors (k,), Status codes (k,) and the largest limit violation."""
    k = len(q)
    pose = posed(chain, q)
    errors = np.sqrt(((pose.world.positions[:, chain.tip] - goal.target.reshape(-1, 3)) ** 2).sum(axis=-1))
    codes = np.full(k, int(Status.stalled))
    reached = errors <= tolerance * (1 + _ROUNDING)
    if not reached.all():
        codes = _why(chain, kernel_targets(chain, goal, k), answer.x, tolerance)
    codes[reached] = Status.reached
    return pose, errors, codes, violation(chain.skeleton, q)


def posed(chain: Chain, q: Floats) -> Pose:
    """The start pose with q (k, nq); its translations and scales go along."""
    start = chain.start
    return Pose(start.skeleton, q, *(_rows(value, len(q)) for value in (start.translations, start.scales)))


def kernel_tips(chain: Chain, x: Floats) -> Floats:
    """Where the kernels think the tips (k, 3) are, in kernel units."""
    tips = np.zeros((len(x), 3))
    kernels.chain.tips(chain.kinds, chain.axes, chain.frames, chain.tips, np.ascontiguousarray(x), tips)
    return tips


def _why(chain: Chain, targets: Floats, x: Floats, tolerance: float) -> Ints:
    """Status codes (k,) for targets that were not reached."""
    if not chain.links:
        return np.full(len(targets), int(Status.nothing_to_move))
    codes = np.full(len(targets), int(Status.stalled))
    errors, possible, blocks = _probe(chain, targets, x)
    stationary = (possible >= (1 - _STATIONARY) * errors[:, None]).all(axis=1)
    codes[stationary & blocks.any(axis=1)] = Status.limited
    shortest, longest, distance = _reaches(chain, targets)
    slack = tolerance / chain.unit
    codes[(distance > longest + slack) | (distance < shortest - slack)] = Status.out_of_reach
    return codes


def _reaches(chain: Chain, targets: Floats) -> tuple[Floats, Floats, Floats]:
    """Shortest and longest reach, and each target's distance from the chain's first joint, in kernel units."""
    shortest, longest = chain.reach.T
    first = chain.frames[:, 0, :3]
    return shortest, longest, np.sqrt(((targets - first) ** 2).sum(axis=-1))


def _probe(chain: Chain, targets: Floats, x: Floats) -> tuple[Floats, Floats, Bools]:
    """Errors (k,), the error each joint alone could reach (k, m), and which joints are kept by their limits (k, m).

    Those are the joints at a limit that alone would come nearer without it; where no single one would (two
    must bend together), all joints at a limit.
    """
    found = np.zeros((len(x), len(chain.links), 2))
    x = np.ascontiguousarray(x)
    kernels.ccd.probe(chain.kinds, chain.axes, chain.ranges, chain.frames, chain.tips, targets, x, found)
    errors = np.sqrt(((kernel_tips(chain, x) - targets) ** 2).sum(axis=-1))
    values = x[:, :, 0]
    slack = 1e-9 * np.maximum(1.0, np.abs(values))
    at_limit = (values <= chain.ranges[:, 0] + slack) | (values >= chain.ranges[:, 1] - slack)
    helps = found[:, :, 1] < (1 - _STATIONARY) * found[:, :, 0]
    blocks = np.where((at_limit & helps).any(axis=1, keepdims=True), at_limit & helps, at_limit)
    return errors, found[:, :, 0], blocks


def _rows(value: Floats | None, k: int) -> Floats | None:
    if value is None:
        return None
    return np.broadcast_to(value.reshape(-1, *value.shape[-2:]), (k, *value.shape[-2:]))

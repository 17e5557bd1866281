"""Closed-form solution of two-bone limbs and planar arms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from poise import kernels
from poise.calls.argument_checks import check_bool, check_choice, check_text, require_keywords
from poise.errors import InputError, UnsupportedError
from poise.kernels.layout import (
    LIMB_WORKSPACE_SIZE,
    MEASURE_WORK_SIZE,
    OUTCOME_HAS_MOVED,
    OUTCOME_IS_MET,
    SWIVEL_AXIS,
    SWIVEL_SHORTEST,
    SWIVEL_THIGH,
)
from poise.maths.arrays import Bools, Floats, abbreviate, check_finite, check_real, find_simd_width, get_scratch
from poise.model.skeleton import Kind
from poise.problem.dof_layout import POSITION
from poise.problem.goal_errors import NO_ERROR_PATHS, ErrorPaths
from poise.problem.problem import Problem, Tolerance
from poise.problem.two_bone_limb import Bend, LimbOptions, LimbPlan, PosedLimb, pack_limb
from poise.solvers.base.interface import Answer, Capabilities, MeasuredOutput, Request, Trace, is_builtin, run_bound

_MAX_CACHED_SETTINGS = 128  # settings in the cache
_SWIVEL_RULES = {"turn": SWIVEL_SHORTEST, "thigh": SWIVEL_THIGH, "both": SWIVEL_THIGH, "axis": SWIVEL_AXIS}
_NO_POLE = np.empty((0, 3))
_CAPABILITIES = Capabilities(
    goals=("Position", "Place", "Pole"), beside=("Pole",), several=False, joints=(Kind.HINGE, Kind.BALL),
    limits=("Range",), coupled=False, free_root=False, prefer=("first",),
)  # fmt: skip


@require_keywords
@dataclass(frozen=True, kw_only=True)
class TwoBone:
    """Closed form for a two-bone limb with a Position or Place. A Pole may be added.

    Parameters
    ----------
    mid
        Name of the middle joint, where more than two joints of the chain can move; by default the second of the two.
    bend
        Rule for the swivel, the rotation of the limb about the line from its first joint to its tip. "turn": least
        rotation of the first joint from its start, twist included; nothing flips. "thigh": least change of the first
        bone's direction, with any twist; the limb bends to the other side once the target has passed that direction.
        "both": greatest sum of the cosines between new and old bones, times their lengths. "axis": least change of the
        direction of the middle joint's axis.
    pole
        World point (3,) to rotate the middle joint towards, about the line from first joint to tip.
    branch
        Bend direction of a hinge in the middle: "nearest" as in the start pose; "positive" or "negative" by the sign of
        its angle, counted from full extension. The other direction is taken where only that is within limits.
    swivel
        [rad] Additional rotation of the limb about the line from the first joint to the tip.
    keep_tip
        With a Position: whether the tip keeps its world rotation; its own joint then rotates as well.
    soft
        Share of the reach, from 0 to below 1, over which the limb slows down before it is straight: with `a = (1 -
        soft) reach` and `s = soft reach`, a distance D > a becomes `a + s (1 - exp(-(D - a) / s))`. This is smooth,
        monotonic and never overshoots. 0 straightens the limb where the target is just in reach.
    weight
        0 to 1: share of each joint's motion from the start pose.

    Notes
    -----
    The chain has two bending joints: the first a ball joint without limits (or a free one), the middle a ball joint, a
    ball joint limited to a hinge by a Range, or a hinge. The middle joint rotates about one axis only: that of the
    hinge, else the normal of the start pose's bend plane; its range is kept exactly. Two parallel hinges are a planar
    arm, both with any ranges. All other joints of the chain keep their start values. A Place also rotates the tip's own
    joint.

    Among all poses with the tip at its target, the pole chooses the swivel; without a pole, or for a pole on the line
    from the first joint to the tip, `bend` does; else the least rotation counts. All rules are relative to the start
    pose: to continue an animation, start from its last frame. A target out of reach is approached as near as possible.
    A target within the soft zone does not count as reached, nor does one with a weight below 1.

    A Pole goal must be for the middle joint of this limb. It replaces the option `pole`, is measured like any
    goal, and does not affect the tip; so the weights of both goals have no effect. A start with all goals met is
    returned unchanged, unless the option `pole` or a swivel is set.
    """

    mid: str | None = None
    bend: Bend = "turn"
    pole: ArrayLike | None = None
    branch: Literal["nearest", "positive", "negative"] = "nearest"
    swivel: float = 0.0
    keep_tip: bool = False
    soft: float = 0.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.mid is not None:
            check_text(self.mid, "mid, the name of a joint,")
        check_choice(self.bend, "bend", tuple(_SWIVEL_RULES))
        check_choice(self.branch, "branch", ("nearest", "positive", "negative"))
        checked_options: dict[str, Any] = {
            name: check_real(getattr(self, name), name) for name in ("swivel", "soft", "weight")
        }
        if not abs(checked_options["swivel"]) < math.inf:
            raise InputError(f"swivel must be a finite angle, not {abbreviate(self.swivel)}")
        if not 0 <= checked_options["soft"] < 1:
            raise InputError(f"soft must be a share of the reach from 0 up to 1, not {abbreviate(self.soft)}")
        if not 0 <= checked_options["weight"] <= 1:
            raise InputError(f"weight must be from 0 to 1, not {abbreviate(self.weight)}")
        for option, value in (
            checked_options | {"pole": _check_pole(self.pole), "keep_tip": check_bool(self.keep_tip, "keep_tip")}
        ).items():
            object.__setattr__(self, option, value)

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "two_bone"

    @property
    def handles(self) -> Capabilities:
        """One Position or Place, and a Pole, on hinges and balls. `run` refuses other limbs than those of two bones."""
        return _CAPABILITIES

    @property
    def restraints(self) -> dict[str, float]:
        """Map restraining options to harmless values."""
        harmless_values = {"soft": 0.0, "weight": 1.0}
        return {name: value for name, value in harmless_values.items() if getattr(self, name) != value}

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        return run_bound(self.bind(problem, tolerance, request), targets)

    def bind(self, problem: Problem, tolerance: Tolerance, request: Request) -> _LimbSolve:
        """Bind the options to a problem; see `BoundSolve`."""
        limb = pack_limb(problem, self.packing)
        has_pole = limb.plan.pole_column >= 0 or self.pole is not None
        if has_pole or self.swivel != 0.0:
            self._refuse_poles(limb.plan)
        settings = (_cached_settings if is_builtin(self) else _pack_settings)(self, tolerance, has_pole=has_pole)
        restores_starts = limb.plan.pole_column >= 0 and self.swivel == 0.0
        poles = _NO_POLE if self.pole is None else np.array([self.pole])
        paths = problem.error_paths or NO_ERROR_PATHS
        return _LimbSolve(problem, limb, paths, poles, settings, tolerance, restores_starts, request.trace)

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for chains other than two-bone limbs.

        The same is raised for a pole or swivel without use.
        """
        plan = pack_limb(problem, self.packing).plan
        if plan.pole_column >= 0 or self.pole is not None or self.swivel != 0.0:
            self._refuse_poles(plan)

    def _refuse_poles(self, plan: LimbPlan) -> None:
        """Raise UnsupportedError for a pole or swivel without use."""
        if plan.pole_column >= 0 and self.pole is not None:
            raise UnsupportedError("two_bone follows one pole; give the option pole or a Pole goal, not both")
        if plan.limb.is_planar:
            raise UnsupportedError("two_bone turns no planar limb about its chord, so a pole or a swivel has no effect")

    @cached_property
    def packing(self) -> LimbOptions:
        """Options with an effect on the packing of the limb."""
        return LimbOptions(self.mid, self.keep_tip, self.bend, self.branch)

    def settings(self, tolerance: Tolerance, *, has_pole: bool = False) -> Floats:
        """Pack the options for kernels/two_bone.py."""
        return _pack_settings(self, tolerance, has_pole=has_pole)


class _LimbSolve(NamedTuple):
    """Limb of a problem, bound to the options of `TwoBone`; see `BoundSolve`.

    restores_starts  whether starts are compared with a Pole goal, too
    """

    problem: Problem
    limb: PosedLimb
    paths: ErrorPaths
    poles: Floats
    settings: Floats
    tolerance: Tolerance
    restores_starts: bool
    has_trace: bool

    @property
    def has_measures(self) -> bool:
        """Whether the kernel measures the errors of its solutions."""
        return len(self.paths.spans) > 0 and not self.restores_starts

    def solve(self, targets: Floats) -> MeasuredOutput:
        """Solve for targets (k, W)."""
        problem, limb, paths, poles, settings, tolerance, restores_starts, _ = self
        pole_column, tip_targets = limb.plan.pole_column, targets
        if pole_column >= 0:
            pole_columns = slice(pole_column, pole_column + 3)
            tip_targets, poles = (
                np.delete(targets, pole_columns, axis=1),
                np.ascontiguousarray(targets[:, pole_columns]),
            )
        if restores_starts:  # which are measured later
            q, outcomes = solve_limb(limb, tip_targets, poles, settings)
            _restore_met_starts(problem, limb.start_q, targets, tolerance, q, outcomes)
            return MeasuredOutput(q, None, outcomes)
        return solve_and_measure_limb(limb, tip_targets, poles, settings, paths, targets)

    def build_answer(self, targets: Floats, output: MeasuredOutput) -> Answer:
        """Build the answer from the output of `solve`."""
        q, _, outcomes = output
        iterations = outcomes[:, OUTCOME_HAS_MOVED].astype(np.int64)
        turn_count = 3 if self.limb.plan.limb.rotates_tip else 2
        trace = _build_trace(self.problem, self.limb.start_q, q, targets) if self.has_trace else None
        return Answer(q, outcomes[:, OUTCOME_IS_MET], iterations, turn_count * iterations, trace)


def solve_limb(limb: PosedLimb, targets: Floats, poles: Floats, settings: Floats) -> tuple[Floats, Bools]:
    """Solve a limb for tip targets (k, 3|7). Returns q (k, nq), and flags (k, 2): moved, and target met.

    poles     (0|1|k, 3)
    settings  what `TwoBone.settings` gives
    """
    q, _, outcomes = solve_and_measure_limb(limb, targets, poles, settings, NO_ERROR_PATHS, targets)
    return q, outcomes


def solve_and_measure_limb(
    limb: PosedLimb, tip_targets: Floats, poles: Floats, settings: Floats, paths: ErrorPaths, targets: Floats
) -> MeasuredOutput:
    """Solve a limb and measure along `paths`. See `solve_limb`; `targets` (k, W) are those of all goals."""
    plan, limb_rows, start_q = limb
    k = len(targets)
    q, outcomes = np.empty((k, start_q.shape[1])), np.empty((k, 2), dtype=np.bool_)
    error_parts = np.empty((k, len(paths.spans), 2))
    measured = paths.table, paths.spans, paths.measure_rows, paths.q_columns, targets, q, outcomes, error_parts
    measure_size = len(paths.q_columns) + MEASURE_WORK_SIZE
    if plan.limb.is_planar:
        work = get_scratch(measure_size)
        kernels.planar_two_bone.solve(limb_rows, tip_targets, plan.q_columns, settings, start_q, *measured, work)
    else:
        lane_count = find_simd_width()
        solve_kernel = kernels.two_bone.solve8 if lane_count == 8 else kernels.two_bone.solve4  # noqa: PLR2004
        work = get_scratch(max(LIMB_WORKSPACE_SIZE, measure_size) * lane_count)
        solve_kernel(limb_rows, tip_targets, poles, plan.q_columns, settings, start_q, *measured, work)
    return MeasuredOutput(q, error_parts if len(paths.spans) else None, outcomes)


def _pack_settings(options: TwoBone, tolerance: Tolerance, *, has_pole: bool) -> Floats:
    half_swivel = options.swivel / 2
    uses_swivel = has_pole or options.swivel != 0.0
    half_angle_sine = math.sin(min(tolerance.angle, math.pi) / 2)
    swivel_components = math.cos(half_swivel), math.sin(half_swivel)
    swivel_rule = _SWIVEL_RULES[options.bend]
    return np.array(
        [
            tolerance.distance,
            half_angle_sine,
            options.soft,
            *swivel_components,
            uses_swivel,
            options.weight,
            swivel_rule,
        ]
    )


_cached_settings = lru_cache(_MAX_CACHED_SETTINGS)(_pack_settings)


def _restore_met_starts(
    problem: Problem, start_q: Floats, targets: Floats, tolerance: Tolerance, q: Floats, outcomes: Bools
) -> None:
    """Restore starts with target and pole already met."""
    start_rows = np.ascontiguousarray(np.broadcast_to(start_q, q.shape))
    is_met = problem.is_met(problem.compute_errors(start_rows, targets), tolerance)
    q[is_met] = start_rows[is_met]
    outcomes[is_met, OUTCOME_HAS_MOVED], outcomes[is_met, OUTCOME_IS_MET] = False, True


def _build_trace(problem: Problem, start_q: Floats, q: Floats, targets: Floats) -> Trace:
    """Build a trace of start and answer, with their distances."""
    trace_q = np.stack([start_q[0], q[0]])
    distance_column = [m.kind for m in problem.measures].index(POSITION)
    return Trace(problem.compute_errors(trace_q, np.repeat(targets, 2, axis=0))[:, distance_column], trace_q)


def _check_pole(pole: ArrayLike | None) -> tuple[float, float, float] | None:
    """Check a pole and return three numbers."""
    if pole is None:
        return None
    point = check_finite(pole, "the pole", last_axis_length=3)
    if point.shape != (3,):
        raise InputError(f"a pole is one world point (x, y, z), not an array of shape {point.shape}")
    x, y, z = point.tolist()
    return (x, y, z)


Solver = TwoBone

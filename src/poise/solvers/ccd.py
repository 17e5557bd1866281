"""Cyclic coordinate descent: one joint at a time moves optimally.

Each joint rotates to bring the tip as near to the target as it can.

Wang and Chen, "A combined optimization method for solving the inverse kinematics problems of mechanical
manipulators", IEEE Trans. Robotics and Automation 7(4), 1991; the hinge step in closed form is their
equation for one joint, also for orientations. Every step lowers the error or leaves it, also at a limit.
Where sweeps converge slowly, damped Gauss-Newton steps of all joints at once take over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from poise import kernels
from poise.calls.argument_checks import check_bool, check_choice, check_count, check_names, require_keywords
from poise.errors import InputError, UnsupportedError
from poise.kernels.layout import (
    BASE_FIRST,
    GROWING_WINDOW,
    TIP_FIRST,
)
from poise.maths.arrays import Floats, check_real
from poise.problem.chain import Chain, find_chain, pack_chain_tables
from poise.problem.feasibility import find_free_reach
from poise.problem.problem import Problem, Tolerance
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.chain_solve import ChainKernel, ChainSolve, FarLine
from poise.solvers.base.interface import Answer, Capabilities, Request, is_builtin, run_bound
from poise.solvers.base.lm_engine import answer_with_start
from poise.solvers.base.stiffness import Stiffness, check_stiffness, compute_joint_weights

_ORDER_CODES = {"tip-first": TIP_FIRST, "base-first": BASE_FIRST, "window": GROWING_WINDOW}
_DIRECTION_COLUMN = 2  # column of the direction's weight


@require_keywords
@dataclass(frozen=True, kw_only=True)
class CCD:
    """Cyclic coordinate descent for goals of one joint. It moves ball joints, hinges and slides within their limits.

    One joint after the other rotates to bring the tip as near to the target as this joint alone can.

    Parameters
    ----------
    iterations
        Largest number of sweeps over the chain, at most 1,000,000. Steps of the polish count as sweeps.
    order
        "base-first" unrolls the whole chain and needs few sweeps. "tip-first" is the classic order; it curls the end of
        the chain. "window" sweeps from the tip over the last joint, the last two, and so on to the base, so joints near
        the tip do first what they can do alone; one such pass is one iteration.
    finish
        Whether to polish: damped Gauss-Newton steps of all joints at once follow a sweep that reduces the error by less
        than a fifth, as long as they improve. Coordinate methods converge slowly in narrow valleys, most near full
        extension. Without a polish, and base first, such a sweep is followed by one from the tip; for a Position its
        change is repeated as long as that improves (a pattern move).
    stiffness
        mu >= 0 for every joint, or for some by name, role or a glob of names ("*Spine*"). A rotation by phi costs
        mu (1 - cos phi) times the joint's largest possible gain, so the other joints move more. 0 is no stiffness.
    direction_joints
        Names of the joints that serve only a Direction goal, while the other joints reach: the wrist points the tool.
        None: every joint serves every goal. With names there is no polish, which would rotate all joints for all goals.
    bend
        [rad] A chain that is straight within this angle and misses its goal is bent by it first, always to the same
        side: no single joint can bring the tip of a straight chain nearer to a target on the chain's own line. 0
        switches it off.
    hinge
        "exact" takes the angle of least error, in closed form and within the hinge's range: the classic step. "project"
        is the step of many game programs, for a Position: rotate freely, rotate the hinge axis back, read the angle,
        clamp it.
    max_turn
        [rad] Largest rotation of a joint in one step (damping); inf is no bound. Below pi there are no pattern moves,
        and with hinge="project" there is no polish.
    restarts
        Largest number of restarts from other poses within limits, at most 1,000,000, where the sweeps stall short of a
        target within reach. The first ones begin near the start pose, later ones farther away. Their sweeps count as
        iterations. Coordinate methods can stall at a limit even if a solution is within limits. None: 8 for a Position,
        32 for other goals, none with order="tip-first".

    Notes
    -----
    At most one goal each is allowed for the position, the rotation and the direction of one joint: a Position and a
    Direction, or a Place. Soft limits are refused.

    Targets of a Position beyond the reach of balls without limits need no sweeps: with a polish, and without stiffness,
    direction joints or `max_turn`, the chain is straightened towards them in closed form.

    Each step lowers `p |t - e|^2 + o (2 sin(a/2))^2 + d (2 sin(b/2))^2`, or leaves it: p, o and d are the squared
    weights of the goals, `|t - e|` the distance in units of the chain's size (the smallest power of two not below the
    largest coordinate of an offset), a the remaining angle of the rotation and b that of the direction. Hinges and
    slides take the exact minimiser inside their range. A ball joint takes the exact rotation (Davenport 1968); where
    moving it back inside its SwingTwist or EulerBox would raise the error, the step is halved up to three times, or not
    taken.

    `CCD(order="tip-first", bend=0, finish=False)` is the classic form.

    References
    ----------
    Wang and Chen, "A combined optimization method for solving the inverse kinematics problems of mechanical
    manipulators", IEEE Trans. Robotics and Automation 7(4), 1991.
    """

    iterations: int = 100
    order: Literal["base-first", "tip-first", "window"] = "base-first"
    finish: bool = True
    stiffness: Stiffness | Mapping[str, float] = 0.0
    direction_joints: tuple[str, ...] | None = None
    bend: float = math.radians(2)
    hinge: Literal["exact", "project"] = "exact"
    max_turn: float = math.inf
    restarts: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.order, "order", ("base-first", "tip-first", "window"))
        check_choice(self.hinge, "hinge", ("exact", "project"))
        checked_options: dict[str, Any] = {
            "iterations": check_count(self.iterations, "iterations"),
            "finish": check_bool(self.finish, "finish"),
            "stiffness": check_stiffness(self.stiffness),
            "direction_joints": _parse_joint_names(self.direction_joints),
            "restarts": None if self.restarts is None else check_count(self.restarts, "restarts"),
            "bend": check_real(self.bend, "bend"),
            "max_turn": check_real(self.max_turn, "max_turn"),
        }
        if not 0 <= checked_options["bend"] < math.pi / 2:
            raise InputError(f"bend must be an angle from 0 up to a quarter turn (pi/2 rad), not {self.bend!r}")
        if not checked_options["max_turn"] > 0:
            raise InputError(f"max_turn must be an angle above 0, not {self.max_turn!r}")
        for option, value in checked_options.items():
            object.__setattr__(self, option, value)  # NumPy numbers become Python ones, a mapping becomes pairs

    @property
    def name(self) -> str:
        """Name of the solver."""
        return "ccd"

    @property
    def handles(self) -> Capabilities:
        """Goals of one joint, on joints not coupled with each other."""
        return Capabilities(
            goals=("Position", "Orientation", "Place", "Direction"),
            one_joint=True,
            coupled=False,
            prefer=("first",),
        )

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W). See `Solver.run`."""
        if not problem.joints:
            return answer_with_start(problem, targets, tolerance, request)
        return run_bound(self._bind_chain(problem, tolerance, request), targets)

    def bind(self, problem: Problem, tolerance: Tolerance, request: Request) -> ChainSolve | None:
        """Bind the options to a problem; see `BoundSolve`."""
        return self._bind_chain(problem, tolerance, request) if problem.joints else None

    def _bind_chain(self, problem: Problem, tolerance: Tolerance, request: Request) -> ChainSolve:
        chain = find_chain(problem, self.name)
        kernel = self._pack_cached(problem, chain, tolerance)
        reach = find_free_reach(problem, tolerance) if self.can_use_straight_line else None
        error_scale = chain.kernel_unit_in_world if chain.is_point_only else math.sqrt(chain.weights.max())
        far_line = None if reach is None else FarLine(reach, tolerance)
        return ChainSolve(problem, chain, request, kernel, self.iterations + 1, error_scale, far_line)

    @property
    def can_use_straight_line(self) -> bool:
        """Whether out-of-reach targets may be answered by a straight line.

        Such an answer is where the polish ends on a chain without limits.
        """
        return self.finish and not self.stiffness and self.max_turn == math.inf and self.direction_joints is None

    def _pack_cached(self, problem: Problem, chain: Chain, tolerance: Tolerance) -> ChainKernel:
        if not is_builtin(self):
            return self._pack(problem, chain, tolerance)
        key = self, tolerance, problem.error_paths is None, problem.has_preference
        return get_or_compute(chain, "ccd", key, lambda: self._pack(problem, chain, tolerance))

    def _pack(self, problem: Problem, chain: Chain, tolerance: Tolerance) -> ChainKernel:
        """Pack the kernel and its constant inputs."""
        options, m = self._pack_options(problem, chain, tolerance), len(chain.link_kinds)
        if self._can_use_point_kernel(problem, chain):
            point_kernel = kernels.ccd_position
            packed = pack_chain_tables(problem, chain, options, point_kernel.compute_work_size(m))
            return ChainKernel(point_kernel.solve, packed)
        joint_weights = compute_joint_weights(problem.skeleton, check_stiffness(self.stiffness)).take(chain.joint_rows)
        goal_masks, goal_kernel = self._build_goal_masks(problem, chain), kernels.ccd_goals
        work_size = goal_kernel.compute_goal_work_size(m)
        packed = pack_chain_tables(problem, chain, options, work_size, joint_weights, goal_masks)
        return ChainKernel(goal_kernel.solve, packed)

    def _can_use_point_kernel(self, problem: Problem, chain: Chain) -> bool:
        """Return whether the position-only kernel is sufficient. Its polish has no maximum rotation."""
        has_plain_options = self.order != "window" and self.stiffness in (0.0, ()) and self.direction_joints is None
        has_capped_polish = self.finish and self.max_turn < math.pi and self.hinge == "exact"
        return _is_point_only(problem, chain) and has_plain_options and not has_capped_polish

    def _pack_options(self, problem: Problem, chain: Chain, tolerance: Tolerance) -> Floats:
        """Pack the options for the kernels. See `CcdPositionOptions` and `CcdGoalOptions` there."""
        uses_point_kernel = self._can_use_point_kernel(problem, chain)
        if self.hinge == "project" and not uses_point_kernel:
            raise UnsupportedError(
                'hinge="project" solves only a Position, without stiffness, a window or direction_joints'
            )
        max_distance, max_chord = chain.convert_tolerance(tolerance)
        default_restarts = 0 if self.order == "tip-first" else 8 if _is_point_only(problem, chain) else 32
        restarts = default_restarts if self.restarts is None else self.restarts
        has_polish = self.finish and self.direction_joints is None
        return np.array([
            max_distance, self.iterations, _ORDER_CODES[self.order], self.bend, self.max_turn, restarts, has_polish,
            *([self.hinge == "project"] if uses_point_kernel else [max_chord, *chain.weights / chain.weights.max()]),
        ])  # fmt: skip

    def _build_goal_masks(self, problem: Problem, chain: Chain) -> Floats:
        """Return (m, 3) masks of the goals served by each joint."""
        goal_masks = np.ones((len(chain.joint_rows), 3))
        if self.direction_joints is None:
            return goal_masks
        if not chain.weights[_DIRECTION_COLUMN]:
            raise UnsupportedError("direction_joints are for a Direction goal; there is none")
        names_by_row = {problem.skeleton.index(name): name for name in self.direction_joints}
        unmoved_name = next((name for row, name in names_by_row.items() if row not in chain.joint_rows), None)
        if unmoved_name is not None:
            raise UnsupportedError(f"direction_joints: {unmoved_name!r} does not move for this goal")
        for i, row in enumerate(chain.joint_rows):
            goal_masks[i] = (0, 0, 1) if row in names_by_row else (1, 1, 0)
        return goal_masks


def _is_point_only(problem: Problem, chain: Chain) -> bool:
    """Return whether the only goal is a position."""
    return len(problem.goals) == 1 and chain.is_point_only


def _parse_joint_names(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    joint_names = (value,) if isinstance(value, str) else check_names(value, "direction_joints", "['hand']")
    if not joint_names:
        raise InputError("direction_joints must be names of joints; there are none")
    return joint_names


Solver = CCD

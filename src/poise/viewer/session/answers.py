"""Answers: what is told of the displayed poses, besides the poses.

    PoseState.begin_answer() -> AnswerRequest.compute() -> PoseAnswer -> PoseState.finish_answer()

The session thread makes the request and takes the answer. A request is a value, and to compute its answer changes no
state: any thread may do it, and drop it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.plot.limit_outlines import find_joints_at_limit
from poise.problem.feasibility import judge_start_gaps
from poise.problem.problem import Problem
from poise.solvers.base.interface import Status
from poise.viewer import protocol
from poise.viewer.document.document import Document
from poise.viewer.session.race import LiveRecord
from poise.viewer.view_solver import Verdict, ViewOutcome, ViewSolver

MAX_TRACED_SOLVE_S = 0.3  # [s] longer solves are not repeated for their curve
_NO_CURVE_SENTENCE = f"no curve is drawn for solves longer than {MAX_TRACED_SOLVE_S:g} s"
# [rad, file units] difference up to which a joint counts as unmoved: the error of reached goals
_SAME_VALUE_TOLERANCE = 1e-6
_STATUS_NAMES = {
    protocol.STATUS_MISSED: "missed",
    protocol.STATUS_REFUSED: "refused",
    protocol.STATUS_NOTHING: "nothing",
}


_MOVING_VERDICT = Verdict(protocol.STATUS_MISSED, "missed: the reason follows when the target rests")


class PoseAnswer(NamedTuple):
    """Message for the page. It is stale without the newest figures of a race, or without a reason."""

    message: dict[str, Any]
    is_stale: bool = False


@dataclass(frozen=True, eq=False)
class ViewRequest:
    """What an answer about one view is computed from.

    outcome     of the last solve; in a race at the displayed iteration
    pose        the displayed one of the first character
    errors      the error per iteration so far, or nothing
    tracer      solver that repeats the solve with a trace instead, or None
    is_partial  whether the reason of a missed goal or the error curve is left to a later answer
    """

    outcome: ViewOutcome
    pose: Pose
    errors: tuple[float, ...] = ()
    tracer: ViewSolver | None = None
    is_partial: bool = False

    def without_search(self, max_traced_s: float) -> ViewRequest:
        """Return the request without a search for reasons. Longer solves have no curve, either."""
        outcome, tracer = self.outcome, self.tracer
        if outcome.lacks_reason:
            outcome = dataclasses.replace(outcome, verdict_source=_MOVING_VERDICT)
        if outcome.seconds > max_traced_s:
            tracer = None
        is_partial = outcome is not self.outcome or tracer is not self.tracer
        return dataclasses.replace(self, outcome=outcome, tracer=tracer, is_partial=is_partial)


@dataclass(frozen=True, eq=False)
class AnswerRequest:
    """What an answer is computed from.

    views          one for each view
    watched_chain  index of the chain with the error curve
    record         figures of the race, or None; no other work uses them at the same time
    last           last iteration of the race
    """

    document: Document
    document_version: int
    target_serial: int
    selected_joint: str | None
    views: tuple[ViewRequest, ...]
    watched_chain: int = 0
    record: LiveRecord | None = None
    last: int = 0

    def compute(self) -> PoseAnswer:
        """Compute the answer.

        It has sentences, error curves, joints at their limits and the selected joint.
        """
        selected_joint, race, is_stale = self.selected_joint, None, any(view.is_partial for view in self.views)
        if self.record is not None:
            figures = self.record.measure()
            race, is_stale = {**figures.describe(), "last": self.last}, is_stale or figures.is_stale
        message = {
            "kind": "answer",
            "version": self.document_version,
            "serial": self.target_serial,
            "views": [self._describe_view(view) for view in self.views],
            "selected": None if selected_joint is None else describe_joint(self.views[0].pose, selected_joint),
            "race": race,
        }
        return PoseAnswer(message, is_stale)

    def _list_joints(self) -> list[str]:
        """List the joints of all chains, and the selected one."""
        skeleton, selected = self.document.skeleton, [self.selected_joint] if self.selected_joint is not None else []
        of_chains = [
            joint
            for chain in self.document.active_chains
            for joint in (*chain.list_joints(skeleton), *chain.list_other_joints(skeleton))
        ]
        return list(dict.fromkeys([*of_chains, *selected]))

    def _describe_view(self, view: ViewRequest) -> dict[str, Any]:
        """Describe one view. It has the error per iteration, the joints at their limits and the open loops."""
        document, outcome = self.document, view.outcome
        joints_at_limit = find_joints_at_limit(view.pose, self._list_joints())
        is_unblocked = outcome.status in (Status.reached, protocol.STATUS_NOTHING)
        is_untraced = outcome.seconds > MAX_TRACED_SOLVE_S and document.pace == "live"
        errors = list(view.errors) or None
        if view.tracer is not None:
            errors = view.tracer.compute_error_curve(document.active_chains, self.watched_chain, outcome.start_q)
        return {
            "status": _STATUS_NAMES.get(outcome.status) or Status(outcome.status).name,
            "sentence": outcome.sentence,
            "solver": outcome.solver,
            "iterations": outcome.iterations,
            "microseconds": outcome.seconds * 1e6,
            "left": None if math.isnan(outcome.position_error) else outcome.position_error,
            "errors": errors,
            "note": outcome.note or (_NO_CURVE_SENTENCE if is_untraced else None),
            "at_limit": joints_at_limit,
            # they are there in the start pose, too: they do not block a reached goal
            "resting": find_unmoved(view.pose, document.start, joints_at_limit) if is_unblocked else [],
            "open": find_open_loops(view.pose),
            "left_out": [{"chain": chain, "reason": reason} for chain, reason in outcome.left_out],
        }


def find_open_loops(pose: Pose) -> list[str]:
    """Find the names of open loops in a pose."""
    if not pose.skeleton.loops:
        return []
    (is_open,) = judge_start_gaps(Problem(pose, ())).is_open
    return [loop.name for loop, is_loop_open in zip(pose.skeleton.loops, is_open, strict=True) if is_loop_open]


def find_unmoved(pose: Pose, start: Pose, joints: Sequence[str]) -> list[str]:
    """Find the joints with the same values as in the start pose."""
    return [name for name in joints if _is_same(_read_values(pose, name), _read_values(start, name))]


def _read_values(pose: Pose, name: str) -> Floats:
    return pose.q[pose.skeleton.q_slice(name)]


def _is_same(values: Floats, start_values: Floats) -> bool:
    """Return whether two joints have equal values.

    A quaternion and its negative are one rotation.
    """
    if values.shape != start_values.shape:  # a freed root
        return False
    return bool(
        min(np.abs(values - start_values).max(initial=0.0), np.abs(values + start_values).max(initial=0.0))
        < _SAME_VALUE_TOLERANCE
    )


def describe_joint(pose: Pose, joint: str) -> dict[str, Any]:
    """Describe a joint: its numbers in q and its position."""
    skeleton = pose.skeleton
    name = skeleton.names[skeleton.index(joint)]
    values = [] if skeleton[name].kind == 0 else pose.q[skeleton.q_slice(name)].tolist()
    return {"joint": name, "values": values, "position": pose.world[name].positions.tolist()}

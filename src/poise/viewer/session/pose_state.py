"""Displayed poses of all views, and their next solve."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.solvers.base.interface import Status
from poise.viewer import protocol
from poise.viewer.document.document import MAX_VIEWS, Document
from poise.viewer.document.playhead import Playhead
from poise.viewer.idle_motion import IdleFigure, can_idle, resume_idle
from poise.viewer.rig_message import find_row_width, pack_frame_rows
from poise.viewer.session.answers import MAX_TRACED_SOLVE_S, AnswerRequest, PoseAnswer, ViewRequest
from poise.viewer.session.race import LiveRecord, RaceClock
from poise.viewer.view_solver import (
    Verdict,
    ViewOutcome,
    ViewSolver,
    build_pose,
    describe_iteration,
    solve_with_path,
)

_FRAME_INTERVAL_S = 1 / 60  # [s] between frames of playing and iterating
_IDLE_INTERVAL_S = 1 / 30  # [s] between frames of a figure that moves by itself
_ANSWER_INTERVAL_S = 1 / 12  # [s] between answers (sentences and curves)
_REST_S = 0.12  # [s] without a change after which nothing moves: a drag of 60 pictures a second goes on until then
_MAX_MOVING_TRACE_S = 0.004  # [s] longer solves have no curve while something moves: a quarter of a picture
_MAX_CLIP_STEP_S = 0.25  # [s] largest time step of a clip: no jump after the page was asleep
_NO_CHAIN_SENTENCE = "no chain is switched on: add one by its root and tip"
_NO_PULL_SENTENCE = "nothing is pulled: press on a part and drag it"
_CLIP_SENTENCE = "the clip plays as it is: switch a chain on to solve on top of it"
_PAUSED_SENTENCE = "paused: Step does one iteration"
_MAX_CURVE_POINTS = 2000  # iterations in the curve of a stepped solve
_NO_REASON = Verdict(int(Status.stalled), "the search for the reason was cancelled")

FrameSolve: TypeAlias = Callable[[], list[ViewOutcome]]


@dataclass(frozen=True, eq=False)
class PoseFrame:
    """Poses (views, characters, joints, width) with their message header."""

    rows: NDArray[np.float32]
    header: protocol.PoseHeader

    def pack(self, frame_number: int) -> bytes:
        """Pack the pose message."""
        return protocol.pack_poses(protocol.KIND_POSE, self.rows, frame_number, self.header)


class _CachedBasePose(NamedTuple):
    """Pose of the clip or None, and the values determining it."""

    key: object
    pose: Pose | None


class _CachedSolver(NamedTuple):
    """Packed solver of a view, and the values determining it."""

    key: object
    solver: ViewSolver


class _CachedRecord(NamedTuple):
    """Figures of a race, and the values determining its methods."""

    key: object
    record: LiveRecord


class PoseState:
    """Displayed poses of all views, used by the session thread only."""

    def __init__(self, document: Document) -> None:
        self.document: Document = document
        self.playhead: Playhead = Playhead()
        self.target_serial = 0
        self.document_version = 1
        self.selected_joint: str | None = None
        self.dragged_chain: str | None = None  # the chain with the last moved target
        self.is_dragging = False  # whether the last change moved on what was dragged before
        self.is_curve_watched = True  # whether the page shows the error curve: it takes another solve
        self.pending_steps: int = 0  # requested single iterations
        self.program_pose: Pose | None = None
        self.displayed_q: tuple[Floats, ...] = self._build_start()
        self._outcomes = [ViewOutcome(q, q) for q in self.displayed_q]
        self._curves = _make_empty_curves()
        self.race: RaceClock = RaceClock(is_playing=document.pace == "race")
        self._record: _CachedRecord | None = None
        self._last_base: _CachedBasePose | None = None
        self._view_solvers: dict[int, _CachedSolver] = {}
        self._compiled_kinds: set[object] = set()
        self._is_dirty, self._is_frame_pending = True, False
        self._idle: IdleFigure | None = None
        self._wants_idle = False  # the page lets the figure move by itself
        self._is_converged = self._has_restored_outcomes = self._starts_over = False
        self._answer_time, self._is_answer_pending = 0.0, True
        self._change_time = 0.0
        self._answer_request: AnswerRequest | None = None  # the one whose answer is still to come
        self._frame_time = 0.0

    # --- changes ---------------------------------------------------------------------------------------------------

    def set_document(self, document: Document) -> None:
        """Set the document. Displayed poses are moved inside its limits."""
        previous, self.document = self.document, document
        if document.pace == "race" and (previous.pace != "race" or previous.rig is not document.rig):
            self.race = RaceClock(is_playing=True, speed=self.race.speed)
        # the pose of a clip is unrelated to the start pose
        closes_clip = previous.clip_name is not None and document.clip_name is None
        if (
            document.start is not previous.start
            or document.character_positions != previous.character_positions
            or closes_clip
        ):
            self.displayed_q = self._build_start()
        elif document.solver_skeleton is not previous.solver_skeleton:
            base_pose = (
                previous.solver_start if self._last_base is None else self._last_base.pose or previous.solver_start
            )
            poses = [build_pose(base_pose, q).on(document.solver_skeleton) for q in self.displayed_q]
            self.displayed_q = tuple(document.solver_skeleton.legal(pose.flat_q)[0] for pose in poses)
        self.mark_dirty()

    def reset(self) -> None:
        """Return to the start pose."""
        self.displayed_q, self.program_pose = self._build_start(), None
        self.mark_dirty()

    @property
    def is_reached(self) -> bool:
        """Whether the displayed pose of view A has reached its targets."""
        return self._outcomes[0].is_reached

    @property
    def outcomes(self) -> tuple[ViewOutcome, ...]:
        """Solve results of the displayed poses; empty after a change."""
        return () if self._is_dirty else tuple(self._outcomes)

    def restore(self, displayed_q: tuple[Floats, ...], outcomes: tuple[ViewOutcome, ...]) -> None:
        """Restore displayed poses of a snapshot. Converged solves are not repeated, since they might move on."""
        self.displayed_q = displayed_q
        self.mark_dirty()
        if outcomes and self.document.pace == "live" and self.playhead.clip is None:
            self._outcomes, self._has_restored_outcomes = list(outcomes), True

    def mark_dirty(self) -> None:
        """Mark the poses for a new solve."""
        self._is_dirty, self._is_converged, self._has_restored_outcomes, self._is_answer_pending = (
            True,
            False,
            False,
            True,
        )
        self._curves = _make_empty_curves()
        self._wants_idle = False
        self._answer_request = None
        self._change_time = time.perf_counter()

    def start_over(self) -> None:
        """Start the next solve from the start pose. This shows the effect of another method."""
        self._starts_over = True
        self.mark_dirty()

    def request_frame(self) -> None:
        """Request a frame without a new solve."""
        self._is_frame_pending = True

    def let_idle(self, *, is_on: bool) -> None:
        """Let the figure move by itself, or stop it. The next change stops it as well."""
        self._wants_idle = is_on

    @property
    def is_idling(self) -> bool:
        """Whether the figure moves by itself. The last change is shown then."""
        return self._wants_idle and not self._is_dirty and can_idle(self.document)

    def request_answer(self) -> None:
        """Request a new answer without a new solve."""
        self._is_answer_pending = True

    def mark_failed(self) -> None:
        """Stop solving until the next change, after an exception."""
        self._is_dirty, self._is_converged, self.pending_steps, self.playhead.is_playing = False, True, 0, False
        self.race.is_playing = self._wants_idle = False
        self.forget_solvers()

    def _build_start(self) -> tuple[Floats, ...]:
        q = np.repeat(self.document.solver_start.q[None], len(self.document.character_positions), axis=0)
        return (q,) * MAX_VIEWS

    # --- when to compute a pose ------------------------------------------------------------------------------------

    @property
    def _is_running(self) -> bool:
        """Whether poses change without user input."""
        is_iterating = self.document.pace == "iterate" and not self._is_converged and not self.document.is_driven
        is_racing = self._is_race and self.race.is_playing
        return self.playhead.is_playing or is_iterating or is_racing or self.is_idling

    @property
    def _is_race(self) -> bool:
        """Whether the iterations of each solve are shown."""
        return self.document.pace == "race" and not self.document.is_driven

    @property
    def _frame_interval_s(self) -> float:
        return _IDLE_INTERVAL_S if self.is_idling else _FRAME_INTERVAL_S

    def is_due(self) -> bool:
        """Return whether a pose must be computed now."""
        return (
            self._is_dirty
            or self._is_frame_pending
            or self.pending_steps > 0
            or (self._is_running and time.perf_counter() - self._frame_time >= self._frame_interval_s)
        )

    def is_answer_due(self) -> bool:
        """Return whether an answer must be sent now."""
        return (
            self._is_answer_pending
            and not self._is_dirty
            and time.perf_counter() - self._answer_time >= _ANSWER_INTERVAL_S
        )

    def compute_pause(self, *, can_send: bool) -> float | None:
        """Compute the idle time [s] until the next work. None means until the next action."""
        current_time, pauses = time.perf_counter(), list[float]()
        if can_send and (self._is_dirty or self._is_frame_pending or self.pending_steps):
            return 0.0
        if can_send and self._is_running:
            pauses.append(self._frame_time + self._frame_interval_s - current_time)
        if self._is_answer_pending and not self._is_dirty:
            pauses.append(self._answer_time + _ANSWER_INTERVAL_S - current_time)
        return max(min(pauses), 0.0) if pauses else None

    # --- poses -----------------------------------------------------------------------------------------------------

    def compute_frame(self) -> PoseFrame:
        """Compute the next frame."""
        return self.finish_frame(self.begin_frame()())

    def begin_frame(self) -> FrameSolve:
        """Build the solve of the next frame as a function.

        It touches no state of this object, so any thread may run it.
        """
        current_time = time.perf_counter()
        time_step = min(current_time - self._frame_time, _MAX_CLIP_STEP_S)
        if self.is_idling:
            self._frame_time, self._is_frame_pending = current_time, False
            self._move_by_itself(time_step)
            return list
        self.playhead.advance(time_step)
        is_dirty, self._frame_time, self._is_dirty = self._is_dirty, current_time, False
        self._is_frame_pending = False
        if self.document.is_driven or self._has_restored_outcomes:
            return list
        if self._is_race and not is_dirty:
            self.race.advance(time_step)
            return list
        base_pose = self._find_base_pose()
        view_solves = [self._build_solve(view, base_pose) for view in range(self.document.view_count)]
        if not self._is_race or len(self.document.active_chains) != 1:
            return lambda: [view_solve() for view_solve in view_solves]
        record, (chain,) = self._find_record(), self.document.active_chains

        def solve_race() -> list[ViewOutcome]:
            outcomes = [view_solve() for view_solve in view_solves]
            record.follow(chain, base_pose)
            return outcomes

        return solve_race

    def finish_frame(self, outcomes: list[ViewOutcome]) -> PoseFrame:
        """Store solve results and build their frame."""
        if self.document.is_driven:
            self.pending_steps = 0
            return self._build_frame([self._find_program_pose()])
        if not outcomes and self.is_idling:
            return self.build_still_frame()
        for view, outcome in enumerate(outcomes):
            self._store_outcome(view, outcome)
        if self._is_race:
            self._show_race()
        self.pending_steps, self._is_answer_pending, self._starts_over = max(self.pending_steps - 1, 0), True, False
        self._is_converged = all(self._is_view_converged(view) for view in range(self.document.view_count))
        return self.build_still_frame()

    def _move_by_itself(self, time_step: float) -> None:
        """Move the idle figure on."""
        self._idle = resume_idle(self._idle, self.document, self.build_view_pose(0)).advance(time_step)
        self.displayed_q = (self._idle.q[None], *self.displayed_q[1:])

    def cancel_frame(self) -> PoseFrame:
        """Cancel the running solve and keep the displayed poses."""
        self.pending_steps, self._is_answer_pending, self._starts_over, self._is_converged = 0, True, False, True
        self.playhead.is_playing = self.race.is_playing = False
        self.forget_solvers()
        return self.build_still_frame()

    def forget_solvers(self) -> None:
        """Forget packed solvers and figures of a race. A cancelled task may still change them."""
        self._view_solvers.clear()
        self._record = None

    def build_still_frame(self) -> PoseFrame:
        """Build a frame of the displayed poses."""
        base_pose = self._find_base_pose()
        return self._build_frame([build_pose(base_pose, q) for q in self.displayed_q[: self.document.view_count]])

    def pack_start_pose(self) -> bytes:
        """Pack the start pose as a message."""
        rows = _stack_rows([self.document.solver_start])
        return protocol.pack_poses(
            protocol.KIND_START_POSE, rows, 0, protocol.PoseHeader(document_version=self.document_version)
        )

    def _find_base_pose(self) -> Pose:
        """Return the base pose of the chains: clip or start."""
        skeleton = self.document.solver_skeleton
        key = (self.playhead.clip, self.playhead.time, skeleton)
        if self._last_base is None or self._last_base.key != key:  # same pose, same packed solvers
            self._last_base = _CachedBasePose(key, self.playhead.compute_pose(skeleton))
        pose = self._last_base.pose
        return self.document.solver_start if pose is None else pose

    def _find_program_pose(self) -> Pose:
        """Return the pose of a program."""
        return self.document.solver_start if self.program_pose is None else self.program_pose

    def build_view_pose(self, view: int) -> Pose:
        """Build the displayed pose of a view's first character."""
        if self.document.is_driven:
            program_pose = self._find_program_pose()
            return program_pose[0] if program_pose.shape else program_pose
        return self._find_base_pose().with_q(self.displayed_q[view][0])

    def build_poses(self) -> Pose:
        """Build the displayed poses of view A, all characters. It is a batch for a crowd."""
        return (
            self._find_program_pose()
            if self.document.is_driven
            else build_pose(self._find_base_pose(), self.displayed_q[0])
        )

    def _build_solve(self, view: int, base_pose: Pose) -> Callable[[], ViewOutcome]:
        """Build the solve of one view as a function."""
        document, q = self.document, self.displayed_q[view]
        is_playing, is_race = self.playhead.clip is not None, self._is_race
        starts_over = self._starts_over or (document.solve_start == "start" and document.pace == "live")
        if is_playing or is_race or starts_over:
            q = np.repeat(base_pose.q[None], len(q), axis=0)
        if not document.active_chains or (document.pace == "step" and not self.pending_steps):
            idle_sentence = _NO_PULL_SENTENCE if document.scope == "body" else _NO_CHAIN_SENTENCE
            sentence = _PAUSED_SENTENCE if document.active_chains else _CLIP_SENTENCE if is_playing else idle_sentence
            return lambda: ViewOutcome(q, q, Verdict(sentence=sentence))
        view_solver, chains = self.find_view_solver(view, base_pose), document.active_chains
        self._compiled_kinds.add(self._build_problem_kind(view))
        if is_race:
            return lambda: solve_with_path(view_solver, chains, q)
        continues_drag = self.is_dragging and not (is_playing or starts_over)
        return lambda: view_solver(chains, q, continues_drag=continues_drag)

    def _store_outcome(self, view: int, outcome: ViewOutcome) -> None:
        self._outcomes[view] = outcome
        displayed_q = list(self.displayed_q)
        displayed_q[view] = outcome.q
        self.displayed_q = tuple(displayed_q)
        if self.document.pace in ("iterate", "step"):
            self._curves[view] = [*self._curves[view], outcome.position_error][-_MAX_CURVE_POINTS:]

    def find_view_solver(self, view: int, base_pose: Pose) -> ViewSolver:
        """Return the packed solver of a view. It is rebuilt after any change except of targets."""
        document, choice = self.document, self.document.solvers[view]
        chain_shapes = tuple(chain.without_target for chain in document.active_chains)
        key = (
            choice,
            chain_shapes,
            document.pace,
            document.tolerance,
            document.free_root,
            document.floor_height,
            document.character_positions,
        )
        cached = self._view_solvers.get(view)
        if cached is None or cached.key != key or cached.solver.base_pose is not base_pose:
            self._view_solvers[view] = cached = _CachedSolver(key, ViewSolver(document, base_pose, choice))
        return cached.solver

    def find_uncompiled_solver(self) -> str | None:
        """Return a solver with its first solve ahead. It may have to compile."""
        document = self.document
        if document.is_driven or not document.active_chains:
            return None
        uncompiled_views = (
            view_index
            for view_index in range(document.view_count)
            if self._build_problem_kind(view_index) not in self._compiled_kinds
        )
        return next((document.solvers[view].name for view in uncompiled_views), None)

    def _build_problem_kind(self, view: int) -> object:
        document = self.document
        goal_kinds = tuple((chain.kind, chain.pole is None) for chain in document.active_chains)
        return (document.solvers[view].name, goal_kinds, len(document.character_positions) > 1)

    def _is_view_converged(self, view: int) -> bool:
        """Return whether another iteration would change nothing."""
        outcome = self._outcomes[view]
        return outcome.is_reached or not outcome.has_moved

    def _build_frame(self, poses: list[Pose]) -> PoseFrame:
        flags = protocol.FLAG_PLAYING * self.playhead.is_playing + protocol.FLAG_ITERATING * (
            self.document.pace == "iterate" and not self._is_converged
        )
        is_race = self._is_race
        flags |= protocol.FLAG_PLAYING * (is_race and self.race.is_playing)
        outcomes = [self._describe_race(outcome) if is_race else outcome for outcome in self._outcomes]
        view_statuses = tuple(
            protocol.ViewStatus(outcome.quick_status, outcome.seconds * 1e6, outcome.position_error, outcome.iterations)
            for outcome in outcomes
        )
        race_iteration = int(self.race.iteration) if is_race else 0
        return PoseFrame(
            _stack_rows(poses),
            protocol.PoseHeader(
                self.target_serial, self.playhead.time, flags, self.document_version, view_statuses, race_iteration
            ),
        )

    # --- races -----------------------------------------------------------------------------------------------------

    def _show_race(self) -> None:
        """Show the iteration of the race in each view."""
        outcomes = self._outcomes[: self.document.view_count]
        self.race.set_last(max((outcome.path.last for outcome in outcomes if outcome.path is not None), default=0))
        displayed_q = list(self.displayed_q)
        for view, outcome in enumerate(outcomes):
            if outcome.path is not None:
                row = min(int(self.race.iteration), outcome.path.last)
                displayed_q[view] = outcome.path.q[row : row + 1]
        self.displayed_q = tuple(displayed_q)

    def _find_record(self) -> LiveRecord:
        """Return the figures of the race. They begin anew after any change except of targets."""
        document = self.document
        chain_shapes = tuple(chain.without_target for chain in document.active_chains)
        choices = document.solvers[: document.view_count]
        key = (choices, chain_shapes, document.tolerance, document.free_root, document.solver_start)
        if self._record is None or self._record.key != key:
            self._record = _CachedRecord(key, LiveRecord(document))
        return self._record.record

    def _describe_race(self, outcome: ViewOutcome) -> ViewOutcome:
        """Return the outcome of a view at the displayed iteration."""
        path, iteration = outcome.path, int(self.race.iteration)
        return outcome if path is None or iteration >= path.last else describe_iteration(outcome, path, iteration)

    # --- answers ---------------------------------------------------------------------------------------------------

    def build_answer(self) -> dict[str, Any]:
        """Build the answer message of the last solve."""
        request = self.begin_answer()
        message = self.finish_answer(request, request.compute())
        assert message is not None
        return message

    @property
    def is_moving(self) -> bool:
        """Whether the document has just changed, as in a drag."""
        return time.perf_counter() - self._change_time < _REST_S

    def begin_answer(self, *, is_moving: bool = False) -> AnswerRequest:
        """Build the request of an answer about the displayed poses. It replaces the one before.

        While something moves, the next pose does not wait for the reason of a missed goal, or a slow error curve: they
        are in the answer that follows at rest.
        """
        self._answer_time, self._is_answer_pending = time.perf_counter(), False
        base_pose = self._find_base_pose()
        views = [self._request_view(view, base_pose) for view in range(self.document.view_count)]
        if is_moving:
            views = [view.without_search(_MAX_MOVING_TRACE_S) for view in views]
        self._answer_request = request = AnswerRequest(
            self.document,
            self.document_version,
            self.target_serial,
            self.selected_joint,
            tuple(views),
            self._find_watched_chain(),
            self._find_record() if self._is_race else None,
            self.race.last,
        )
        return request

    def finish_answer(self, request: AnswerRequest, answer: PoseAnswer) -> dict[str, Any] | None:
        """Take an answer and return its message. None where the request was cancelled or overtaken.

        The next answer follows while figures of a race lack the newest targets, or a view lacks its reason.
        """
        if request is not self._answer_request:
            return None
        self._answer_request = None
        self._is_answer_pending = self._is_answer_pending or answer.is_stale
        return answer.message

    def cancel_answer(self) -> None:
        """Cancel the search for the reasons of missed goals."""
        self._answer_request = None
        self._outcomes = [
            outcome if outcome.is_reached else dataclasses.replace(outcome, verdict_source=_NO_REASON)
            for outcome in self._outcomes
        ]
        self.forget_solvers()

    def _request_view(self, view: int, base_pose: Pose) -> ViewRequest:
        """Build the request of one view.

        Its error curve comes from the steps so far, or from the last solve repeated with a trace.
        """
        document, outcome = self.document, self._outcomes[view]
        errors, tracer = tuple[float, ...](), None
        if outcome.path is not None:
            errors = tuple(outcome.path.errors.tolist())
        elif self.is_curve_watched and document.pace in ("iterate", "step"):
            errors = tuple(error for error in self._curves[view] if not math.isnan(error))
        elif self.is_curve_watched and not document.is_driven and document.active_chains:
            tracer = self.find_view_solver(view, base_pose) if outcome.seconds <= MAX_TRACED_SOLVE_S else None
        outcome = self._describe_race(outcome) if self._is_race else outcome
        return ViewRequest(outcome, self.build_view_pose(view), errors, tracer)

    def _find_watched_chain(self) -> int:
        """Return the index of the chain with the error curve. It is the last moved chain, else the first."""
        names = [chain.name for chain in self.document.active_chains]
        return names.index(self.dragged_chain) if self.dragged_chain in names else 0


def _make_empty_curves() -> list[list[float]]:
    """Make the error curve of each view."""
    return [[] for _ in range(MAX_VIEWS)]


def _stack_rows(poses: list[Pose]) -> NDArray[np.float32]:
    """Stack the rows of poses: (views, characters, joints, width)."""
    width = max(find_row_width(pose) for pose in poses)
    rows = [pack_frame_rows(pose, width) for pose in poses]
    return np.stack([row if row.ndim == 3 else row[None] for row in rows])  # noqa: PLR2004

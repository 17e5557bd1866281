"""State of a session: displayed poses, next solve, undo, messages."""

from __future__ import annotations

import dataclasses
import math
import time
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise import solvers
from poise.errors import InputError, UnsupportedError
from poise.io.registry import list_formats
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.plot.limit_outlines import build_local_outline
from poise.solvers.base.interface import Status
from poise.solvers.base.option_parsing import Parameter, describe_type, list_parameters, read_summary
from poise.viewer import protocol, scenes
from poise.viewer.document.actions import describe_anatomical_limits, list_keys, write_limit
from poise.viewer.document.document import AUTO, ChainTarget, Document, Playhead, list_contacts
from poise.viewer.document.terrain import TERRAIN_CHOICES
from poise.viewer.rig_message import find_row_width, pack_frame_rows
from poise.viewer.session.uploads import MAX_UPLOAD_BYTES
from poise.viewer.view_solver import ViewOutcome, ViewSolver, build_pose, find_solver_refusals

# --- Undo and redo of documents with their displayed poses -----------------------------------------------------------


_MAX_UNDO_STEPS = 200  # undo steps; documents share unchanged values


class Snapshot(NamedTuple):
    """Snapshot of a document, displayed q per view, and solve results."""

    document: Document
    shown: tuple[Floats, ...]
    outcomes: tuple[ViewOutcome, ...] = ()


class UndoStep(NamedTuple):
    """Undoable step: label and snapshot before it."""

    label: str
    snapshot: Snapshot


@dataclass
class History:
    """Undo and redo steps."""

    past: list[UndoStep] = field(default_factory=list[UndoStep])
    future: list[UndoStep] = field(default_factory=list[UndoStep])

    def add(self, label: str, snapshot: Snapshot) -> None:
        """Add a step and forget all undone steps."""
        self.past = [*self.past[1 - _MAX_UNDO_STEPS :], UndoStep(label, snapshot)]
        self.future = []

    def undo(self, current: Snapshot) -> Snapshot:
        """Go one step back. Raise InputError if there is none."""
        if not self.past:
            raise InputError("there is nothing to undo")
        label, previous = self.past.pop()
        self.future.append(UndoStep(label, current))
        return previous

    def redo(self, current: Snapshot) -> Snapshot:
        """Go one step forward. Raise InputError if there is none."""
        if not self.future:
            raise InputError("there is nothing to redo")
        label, following = self.future.pop()
        self.past.append(UndoStep(label, current))
        return following

    def clear(self) -> None:
        """Remove all steps."""
        self.past, self.future = [], []

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Labels of the next undo and redo steps."""
        return (self.past[-1].label if self.past else None, self.future[-1].label if self.future else None)


# --- Messages of the session: welcome, document state, solve answer --------------------------------------------------


_AUTO_TEXT = "two_bone for a limb of two bones, levenberg_marquardt for everything else"
_SAME_VALUE_TOLERANCE = (
    1e-6  # [rad, file units] difference up to which a joint counts as unmoved: the error of reached goals
)
_STATUS_NAMES = {protocol.STATUS_REFUSED: "refused", protocol.STATUS_NOTHING: "nothing"}


# --- welcome -------------------------------------------------------------------------------------------------------


def build_welcome(key: str, version: str) -> dict[str, Any]:
    """Build the welcome message with all choices. `key` lets the page come back."""
    auto: dict[str, Any] = {"name": AUTO, "title": AUTO, "text": _AUTO_TEXT, "goals": [], "options": []}
    return {
        "kind": "welcome",
        "key": key,
        "poise": version,
        "scenes": [scenes.describe_scene(name)._asdict() for name in scenes.names()],
        "solvers": [auto, *(_describe_solver(name) for name in solvers.names())],
        "terrains": [{"words": words, "title": title} for words, title in TERRAIN_CHOICES],
        "opens": sorted(suffix for suffix, module in list_formats().items() if hasattr(module, "read")),
        "most_bytes": MAX_UPLOAD_BYTES,
    }


def _describe_solver(name: str) -> dict[str, Any]:
    try:
        solver: Any = solvers.make_solver(name)
    except UnsupportedError as error:  # a missing extra
        return {"name": name, "title": name, "text": str(error), "goals": [], "options": [], "missing": True}
    options = [_describe_option(parameter) for parameter in list_parameters(type(solver))]
    return {
        "name": name,
        "title": name,
        "text": read_summary(type(solver)),
        "goals": list(solver.handles.goals),
        "options": options,
    }


def _describe_option(parameter: Parameter) -> dict[str, Any]:
    kind, choices = _choose_widget(parameter.type_hint)
    return {
        "name": parameter.name,
        "type": kind,
        "choices": choices,
        "nullable": _accepts_none(parameter.type_hint),
        "default": _convert_to_json(parameter.default),
        "text": parameter.description,
        "takes": describe_type(parameter.type_hint),
    }


def _choose_widget(hint: Any) -> tuple[str, list[str] | None]:
    """Choose the page's input type and choices for a type."""
    kinds = {bool: "truth", int: "integer", float: "number"}
    parts = [part for part in _split_union(hint) if part is not type(None)]
    if len(parts) == 1 and parts[0] in kinds:
        return kinds[parts[0]], None
    if len(parts) == 1 and typing.get_origin(parts[0]) is Literal:
        return "choice", [str(choice) for choice in typing.get_args(parts[0])]
    return "text", None


def _split_union(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)


def _accepts_none(hint: Any) -> bool:
    return type(None) in _split_union(hint)


def _convert_to_json(value: Any) -> Any:
    """Convert a value to JSON. Unsupported types become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple | list | dict):
        items = typing.cast("Sequence[Any] | dict[str, Any]", value)
        parts = tuple(items.items()) if isinstance(items, dict) else items
        return ",".join(f"{p[0]}={p[1]}" if isinstance(p, tuple) else str(p) for p in parts)  # as in the input fields
    return str(value)


# --- state ---------------------------------------------------------------------------------------------------------


def build_state(document: Document, playhead: Playhead, history: History, version: int) -> dict[str, Any]:
    """Build the state message of the document."""
    undo, redo = history.labels
    return {
        "kind": "state", "version": version, "scene": document.scene, "name": document.name, "views": document.views,
        "solvers": [{"name": c.name, "options": {n: _convert_to_json(v) for n,
        v in c.options}} for c in document.solvers],
        "refused": find_solver_refusals(document), "mode": document.mode, "modes": document.list_modes(),
        "run": document.run,
        "from": document.origin,
        "tolerance": document.tolerance, "free_root": document.free_root,
        "chains": [describe_chain(document, chain) for chain in document.chains],
        "limits": _describe_limits(document), "anatomical": describe_anatomical_limits(document),
        "outlines": _compute_outlines(document),
        "clips": [
            {"name": clip.name, "seconds": clip.duration, "frames": len(clip), "fps": clip.fps}
            for clip in document.rig.clips
        ],
        "clip": document.clip, "duration": playhead.clip.duration if playhead.clip is not None else 0.0,
        "playing": playhead.playing, "speed": playhead.speed, "time": playhead.time,
        "keys": [{"joint": key.joint, "time": key.time} for key in list_keys(document)],
        "plant": document.plant, "terrain": document.terrain, "contacts": list_contacts(playhead.clip),
        "handles": [{"name": h.name, "position": h.position, "rotation": h.rotation} for h in document.handles],
        "controls": [dataclasses.asdict(control) for control in document.controls],
        "driven": document.driven, "undo": undo, "redo": redo,
    }  # fmt: skip


def describe_chain(document: Document, chain: ChainTarget) -> dict[str, Any]:
    """Describe a chain, with the joints from its root to its tip."""
    return {
        "id": chain.id, "root": chain.root, "tip": chain.tip, "kind": chain.kind, "enabled": chain.enabled,
        "weight": chain.weight, "ground": chain.ground, "position": chain.position, "rotation": chain.rotation,
        "direction": chain.direction, "axis": chain.axis, "pole": chain.pole,
        "joints": list(chain.list_joints(document.skeleton)),
    }  # fmt: skip


def _describe_limits(document: Document) -> dict[str, Any]:
    rows = zip(document.skeleton.names, document.skeleton.limits, strict=True)
    return {name: write_limit(limit) for name, limit in rows if limit is not None}


def _compute_outlines(document: Document) -> dict[str, list[list[list[float]]]]:
    """Compute the outlines of the active limits as lines. They bound the directions of each bone."""
    outlines: dict[str, list[list[list[float]]]] = {}
    for name, limit in zip(document.solver_skeleton.names, document.solver_skeleton.limits, strict=True):
        outline = build_local_outline(document.solver_start, name) if limit is not None else None
        if outline is not None:
            outlines[name] = [np.round(line, 5).tolist() for line in outline.lines]
    return outlines


# --- answer --------------------------------------------------------------------------------------------------------


def build_view_answer(
    outcome: ViewOutcome, errors: list[float] | None, at_limit: list[str], resting: list[str]
) -> dict[str, Any]:
    """Build the answer of one view. It has the error per iteration and the joints at their limits.

    `resting` are those at their limits in the start pose as well; they do not block a reached goal.
    """
    status = _STATUS_NAMES.get(outcome.status) or Status(outcome.status).name
    return {
        "status": status, "sentence": outcome.sentence, "solver": outcome.solver, "iterations": outcome.iterations,
        "microseconds": outcome.seconds * 1e6, "left": None if math.isnan(outcome.left) else outcome.left,
        "errors": errors, "note": outcome.note, "at_limit": at_limit,
        "resting": resting if outcome.status in (Status.reached, protocol.STATUS_NOTHING) else [],
        "left_out": [{"chain": chain, "reason": reason} for chain, reason in outcome.left_out],
    }  # fmt: skip


def find_joints_at_limit(pose: Pose, joints: Sequence[str]) -> list[str]:
    """Find the joints at an end of their limit."""
    at_limit: list[str] = []
    for name in joints:
        if pose.skeleton[name].limit is not None:
            outline = build_local_outline(pose, name)
            at_limit += [name] if outline is not None and outline.is_at_limit else []
    return at_limit


def find_unmoved(pose: Pose, start: Pose, joints: Sequence[str]) -> list[str]:
    """Find the joints with the same values as in the start pose."""
    return [name for name in joints if _is_same(_read_values(pose, name), _read_values(start, name))]


def _read_values(pose: Pose, name: str) -> Floats:
    return pose.q[pose.skeleton.q_slice(name)]


def _is_same(values: Floats, others: Floats) -> bool:
    """Return whether two joints have equal values.

    A quaternion and its negative are one rotation.
    """
    if values.shape != others.shape:  # a freed root
        return False
    return bool(
        min(np.abs(values - others).max(initial=0.0), np.abs(values + others).max(initial=0.0)) < _SAME_VALUE_TOLERANCE
    )


def describe_joint(pose: Pose, joint: str) -> dict[str, Any]:
    """Describe a joint: its numbers in q and its position."""
    skeleton = pose.skeleton
    name = skeleton.names[skeleton.index(joint)]
    values = [] if skeleton[name].kind == 0 else pose.q[skeleton.q_slice(name)].tolist()
    return {"joint": name, "values": values, "position": pose.world[name].positions.tolist()}


# --- Shown pose, playing and solving ---------------------------------------------------------------------------------


_FRAME_INTERVAL_S = 1 / 60  # [s] between frames of playing and iterating
_ANSWER_INTERVAL_S = 1 / 12  # [s] between answers (sentences and curves)
_MAX_CLIP_STEP_S = 0.25  # [s] largest time step of a clip: no jump after the page was asleep
_NO_CHAIN_SENTENCE = "no chain is switched on: add one by its root and tip"
_CLIP_SENTENCE = "the clip plays as it is: switch a chain on to solve on top of it"
_PAUSED_SENTENCE = "paused: Step does one iteration"
_MAX_CURVE_POINTS = 2000  # iterations in the curve of a stepped solve
_MAX_TRACED_SOLVE_S = 0.3  # [s] longer solves are not repeated for their curve
_NO_CURVE_SENTENCE = f"no curve is drawn for solves longer than {_MAX_TRACED_SOLVE_S:g} s"

Work: TypeAlias = Callable[[], list[ViewOutcome]]


@dataclass(frozen=True, eq=False)
class PoseFrame:
    """Poses (views, characters, joints, width) with their message header."""

    rows: NDArray[np.float32]
    head: protocol.PoseHeader

    def pack(self, number: int) -> bytes:
        """Pack the pose message."""
        return protocol.pack_poses(protocol.KIND_POSE, self.rows, number, self.head)


class PoseState:
    """Displayed poses of all views, used by the session thread only."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.playhead = Playhead()
        self.serial = 0
        self.version = 1
        self.selected: str | None = None
        self.dragged: str | None = None  # the chain with the last moved target
        self.steps = 0  # requested single iterations
        self.driven: Pose | None = None
        self.shown = self._build_start()
        self._outcomes = [ViewOutcome(q, q) for q in self.shown]
        self._curves: list[list[float]] = [[], []]
        self._last_base: tuple[object, Pose | None] | None = None
        self._view_solvers: dict[int, tuple[object, ViewSolver]] = {}
        self._compiled_kinds: set[object] = set()
        self._is_dirty = True
        self._is_converged = self._keeps_outcomes = self._starts_over = False
        self._answered_at, self._answer_pending = 0.0, True
        self._frame_at = 0.0

    # --- changes ---------------------------------------------------------------------------------------------------

    def set_document(self, document: Document) -> None:
        """Set the document. Displayed poses are moved inside its limits."""
        old, self.document = self.document, document
        closes_clip = (
            old.clip is not None and document.clip is None
        )  # the pose of a clip is unrelated to the start pose
        if document.start is not old.start or document.places != old.places or closes_clip:
            self.shown = self._build_start()
        elif document.solver_skeleton is not old.solver_skeleton:
            base = old.solver_start if self._last_base is None else self._last_base[1] or old.solver_start
            poses = [build_pose(base, q).on(document.solver_skeleton) for q in self.shown]
            self.shown = tuple(document.solver_skeleton.legal(pose.flat_q)[0] for pose in poses)
        self.mark_dirty()

    def reset(self) -> None:
        """Return to the start pose."""
        self.shown, self.driven = self._build_start(), None
        self.mark_dirty()

    @property
    def outcomes(self) -> tuple[ViewOutcome, ...]:
        """Solve results of the displayed poses; empty after a change."""
        return () if self._is_dirty else tuple(self._outcomes)

    def restore(self, shown: tuple[Floats, ...], outcomes: tuple[ViewOutcome, ...]) -> None:
        """Restore displayed poses of a snapshot. Converged solves are not repeated, since they might move on."""
        self.shown = shown
        self.mark_dirty()
        if outcomes and self.document.run == "live" and self.playhead.clip is None:
            self._outcomes, self._keeps_outcomes = list(outcomes), True

    def mark_dirty(self) -> None:
        """Mark the poses for a new solve."""
        self._is_dirty, self._is_converged, self._keeps_outcomes, self._answer_pending = True, False, False, True
        self._curves = [[], []]

    def start_over(self) -> None:
        """Start the next solve from the start pose. This shows the effect of another method."""
        self._starts_over = True
        self.mark_dirty()

    def request_answer(self) -> None:
        """Request a new answer without a new solve."""
        self._answer_pending = True

    def mark_failed(self) -> None:
        """Stop solving until the next change, after an exception."""
        self._is_dirty, self._is_converged, self.steps, self.playhead.playing = False, True, 0, False
        self._view_solvers.clear()

    def _build_start(self) -> tuple[Floats, ...]:
        q = np.repeat(self.document.solver_start.q[None], len(self.document.places), axis=0)
        return (q, q)

    # --- when ------------------------------------------------------------------------------------------------------

    @property
    def _is_running(self) -> bool:
        """Whether poses change without user input."""
        iterates = self.document.run == "iterate" and not self._is_converged and not self.document.driven
        return self.playhead.playing or iterates

    def is_due(self) -> bool:
        """Return whether a pose must be computed now."""
        return (
            self._is_dirty
            or self.steps > 0
            or (self._is_running and time.perf_counter() - self._frame_at >= _FRAME_INTERVAL_S)
        )

    def is_answer_due(self) -> bool:
        """Return whether an answer must be sent now."""
        return (
            self._answer_pending
            and not self._is_dirty
            and time.perf_counter() - self._answered_at >= _ANSWER_INTERVAL_S
        )

    def compute_pause(self, *, free: bool) -> float | None:
        """Compute the idle time [s] until the next work. None means until the next action."""
        current_time, waits = time.perf_counter(), list[float]()
        if free and (self._is_dirty or self.steps):
            return 0.0
        if free and self._is_running:
            waits.append(self._frame_at + _FRAME_INTERVAL_S - current_time)
        if self._answer_pending and not self._is_dirty:
            waits.append(self._answered_at + _ANSWER_INTERVAL_S - current_time)
        return max(min(waits), 0.0) if waits else None

    # --- poses -----------------------------------------------------------------------------------------------------

    def compute_frame(self) -> PoseFrame:
        """Compute the next frame."""
        return self.finish_frame(self.begin_frame()())

    def begin_frame(self) -> Work:
        """Build the solve of the next frame as a function.

        It touches no state of this object, so any thread may run it.
        """
        current_time = time.perf_counter()
        self.playhead.advance(min(current_time - self._frame_at, _MAX_CLIP_STEP_S))
        self._frame_at, self._is_dirty = current_time, False
        if self.document.driven or self._keeps_outcomes:
            return list
        base = self._find_base_pose()
        works = [self._build_solve(view, base) for view in range(self.document.views)]
        return lambda: [work() for work in works]

    def finish_frame(self, outcomes: list[ViewOutcome]) -> PoseFrame:
        """Store solve results and build their frame."""
        if self.document.driven:
            self.steps = 0
            return self._build_frame([self._find_driven_pose()])
        for view, outcome in enumerate(outcomes):
            self._store_outcome(view, outcome)
        self.steps, self._answer_pending, self._starts_over = max(self.steps - 1, 0), True, False
        self._is_converged = all(self._is_view_converged(view) for view in range(self.document.views))
        return self.build_still_frame()

    def cancel_frame(self) -> PoseFrame:
        """Cancel the running solve and keep the displayed poses."""
        self.steps, self._answer_pending, self._starts_over, self._is_converged = 0, True, False, True
        self.playhead.playing = False
        self._view_solvers.clear()  # the cancelled task may still change them
        return self.build_still_frame()

    def build_still_frame(self) -> PoseFrame:
        """Build a frame of the displayed poses."""
        base = self._find_base_pose()
        return self._build_frame([build_pose(base, q) for q in self.shown[: self.document.views]])

    def pack_ghost(self) -> bytes:
        """Pack the start pose as a message."""
        rows = _stack_rows([self.document.solver_start])
        return protocol.pack_poses(protocol.KIND_GHOST, rows, 0, protocol.PoseHeader(version=self.version))

    def _find_base_pose(self) -> Pose:
        """Return the base pose of the chains: clip or start."""
        working = self.document.solver_skeleton
        key = (self.playhead.clip, self.playhead.time, working)
        if self._last_base is None or self._last_base[0] != key:  # same pose, same packed solvers
            self._last_base = (key, self.playhead.compute_pose(working))
        pose = self._last_base[1]
        return self.document.solver_start if pose is None else pose

    def _find_driven_pose(self) -> Pose:
        """Return the pose of a program."""
        return self.document.solver_start if self.driven is None else self.driven

    def build_view_pose(self, view: int) -> Pose:
        """Build the displayed pose of a view's first character."""
        if self.document.driven:
            shown = self._find_driven_pose()
            return shown[0] if shown.shape else shown
        return self._find_base_pose().with_q(self.shown[view][0])

    def build_poses(self) -> Pose:
        """Build the displayed poses of view A, all characters. It is a batch for a crowd."""
        return self._find_driven_pose() if self.document.driven else build_pose(self._find_base_pose(), self.shown[0])

    def _build_solve(self, view: int, base: Pose) -> Callable[[], ViewOutcome]:
        """Build the solve of one view as a function."""
        document, q = self.document, self.shown[view]
        is_playing, is_iterating = self.playhead.clip is not None, document.run != "live"
        if is_playing or self._starts_over or (document.origin == "start" and not is_iterating):
            q = np.repeat(base.q[None], len(q), axis=0)
        if not document.active_chains or (document.run == "step" and not self.steps):
            sentence = (
                _PAUSED_SENTENCE if document.active_chains else _CLIP_SENTENCE if is_playing else _NO_CHAIN_SENTENCE
            )
            return lambda: ViewOutcome(q, q, sentence=sentence)
        view_solver, is_first, chains = (
            self.find_view_solver(view, base),
            self._is_first_solve(view),
            document.active_chains,
        )

        def work() -> ViewOutcome:
            outcome = view_solver(chains, q)
            return (
                view_solver(chains, q) if is_first else outcome
            )  # the first solve compiles and packs; the second is timed

        return work

    def _store_outcome(self, view: int, outcome: ViewOutcome) -> None:
        self._outcomes[view] = outcome
        shown = list(self.shown)
        shown[view] = outcome.q
        self.shown = tuple(shown)
        if self.document.run != "live":
            self._curves[view] = [*self._curves[view], outcome.left][-_MAX_CURVE_POINTS:]

    def find_view_solver(self, view: int, base: Pose) -> ViewSolver:
        """Return the packed solver of a view. It is rebuilt after any change except of targets."""
        document, choice = self.document, self.document.solvers[view]
        shapes = tuple(chain.shape for chain in document.active_chains)
        key = (choice, shapes, document.run, document.tolerance, document.free_root, document.places)
        entry = self._view_solvers.get(view)
        if entry is None or entry[0] != key or entry[1].base is not base:
            self._view_solvers[view] = entry = (key, ViewSolver(document, base, choice))
        return entry[1]

    def find_uncompiled_solver(self) -> str | None:
        """Return a solver with its first solve ahead. It may have to compile."""
        document = self.document
        if document.driven or not document.active_chains:
            return None
        first = (v for v in range(document.views) if self._build_problem_kind(v) not in self._compiled_kinds)
        return next((document.solvers[view].name for view in first), None)

    def _is_first_solve(self, view: int) -> bool:
        """Return whether these goal kinds are new to the solver. The call records them."""
        kind = self._build_problem_kind(view)
        if kind in self._compiled_kinds:
            return False
        self._compiled_kinds.add(kind)
        return True

    def _build_problem_kind(self, view: int) -> object:
        document = self.document
        goals = tuple((chain.kind, chain.pole is None) for chain in document.active_chains)
        return (document.solvers[view].name, goals, len(document.places) > 1)

    def _is_view_converged(self, view: int) -> bool:
        """Return whether another iteration would change nothing."""
        outcome = self._outcomes[view]
        return outcome.status == Status.reached or not outcome.moved

    def _build_frame(self, poses: list[Pose]) -> PoseFrame:
        flags = protocol.FLAG_PLAYING * self.playhead.playing + protocol.FLAG_ITERATING * (
            self.document.run == "iterate" and not self._is_converged
        )
        solved = tuple(protocol.ViewStatus(o.status, o.seconds * 1e6, o.left, o.iterations) for o in self._outcomes)
        return PoseFrame(
            _stack_rows(poses), protocol.PoseHeader(self.serial, self.playhead.time, flags, self.version, solved)
        )

    # --- answers ---------------------------------------------------------------------------------------------------

    def build_answer(self) -> dict[str, Any]:
        """Build the answer message of the last solve.

        It has sentences, error curves, joints at their limits and the selected joint.
        """
        self._answered_at, self._answer_pending = time.perf_counter(), False
        document, base = self.document, self._find_base_pose()
        single = self.build_view_pose(0)
        joints = dict.fromkeys(
            joint for chain in document.active_chains for joint in chain.list_joints(document.skeleton)
        )
        if self.selected is not None:
            joints[self.selected] = None
        return {
            "kind": "answer",
            "version": self.version,
            "views": [self._build_view_answer(view, base, list(joints)) for view in range(document.views)],
            "selected": None if self.selected is None else describe_joint(single, self.selected),
        }

    def _build_view_answer(self, view: int, base: Pose, joints: list[str]) -> dict[str, Any]:
        """Build the answer of one view."""
        pose = self.build_view_pose(view)
        joints_at_limit = find_joints_at_limit(pose, joints)
        resting = find_unmoved(pose, self.document.start, joints_at_limit)
        return build_view_answer(self._describe_outcome(view), self._find_curve(view, base), joints_at_limit, resting)

    def _describe_outcome(self, view: int) -> ViewOutcome:
        """Return a view's outcome, with a note for missing curves."""
        outcome = self._outcomes[view]
        slow = outcome.seconds > _MAX_TRACED_SOLVE_S and self.document.run == "live"
        return dataclasses.replace(outcome, note=outcome.note or _NO_CURVE_SENTENCE) if slow else outcome

    def _find_curve(self, view: int, base: Pose) -> list[float] | None:
        """Find the error per iteration of a view.

        It comes from the steps so far, or from the last solve repeated with a trace.
        """
        document, outcome = self.document, self._outcomes[view]
        if document.run != "live":
            return [error for error in self._curves[view] if error == error] or None  # noqa: PLR0124  (not NaN)
        if document.driven or not document.active_chains or outcome.seconds > _MAX_TRACED_SOLVE_S:
            return None
        return self.find_view_solver(view, base).compute_error_curve(
            document.active_chains, self._find_watched_chain(), outcome.start
        )

    def _find_watched_chain(self) -> int:
        """Return the index of the chain with the error curve. It is the last moved chain, else the first."""
        names = [chain.id for chain in self.document.active_chains]
        return names.index(self.dragged) if self.dragged in names else 0


def _stack_rows(poses: list[Pose]) -> NDArray[np.float32]:
    """Stack the rows of poses: (views, characters, joints, width)."""
    width = max(find_row_width(pose) for pose in poses)
    rows = [pack_frame_rows(pose, width) for pose in poses]
    return np.stack([row if row.ndim == 3 else row[None] for row in rows])  # noqa: PLR2004

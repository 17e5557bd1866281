"""Displayed poses of a session, and the next solve."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.solvers.base.status import Status
from poise.viewer.document.document import Document
from poise.viewer.parts.rows import frame_rows, width_of
from poise.viewer.protocol import GHOST, ITERATING, PLAYING, POSE, Head, Solved, pack_poses
from poise.viewer.session.playing import Playhead
from poise.viewer.session.state import answer_view, at_limit, find_unmoved, selected
from poise.viewer.solving import Outcome, Solving, posed

_FRAME = 1 / 60  # [s] between frames of playing and iterating
_ANSWER = 1 / 12  # [s] between answers (sentences and curves)
_LONGEST = 0.25  # [s] largest time step of a clip: no jump after the page was asleep
_NO_CHAIN = "no chain is switched on: add one by its root and tip"
_PLAYS = "the clip plays as it is: switch a chain on to solve on top of it"
_PAUSED = "paused: Step does one iteration"
_CURVE = 2000  # iterations in the curve of a stepped solve
_TRACED = 0.3  # [s] longer solves are not repeated for their curve
_NO_CURVE = f"no curve is drawn for solves longer than {_TRACED:g} s"

Work: TypeAlias = Callable[[], list[Outcome]]


@dataclass(frozen=True, eq=False)
class StageFrame:
    """Poses (views, characters, joints, width) with their message header."""

    rows: NDArray[np.float32]
    head: Head

    def packed(self, number: int) -> bytes:
        """Pack the pose message."""
        return pack_poses(POSE, self.rows, number, self.head)


class Stage:
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
        self.shown = self._started()
        self._outcomes = [Outcome(q, q) for q in self.shown]
        self._curves: list[list[float]] = [[], []]
        self._last_base: tuple[object, Pose | None] | None = None
        self._solvings: dict[int, tuple[object, Solving]] = {}
        self._known: set[object] = set()
        self._dirty = True
        self._settled = self._kept = self._afresh = False
        self._answered, self._unsaid = 0.0, True
        self._last = 0.0

    # --- changes ---------------------------------------------------------------------------------------------------

    def put(self, document: Document) -> None:
        """Set the document. Displayed poses are moved inside its limits."""
        old, self.document = self.document, document
        left = old.clip is not None and document.clip is None  # the pose of a clip is unrelated to the start pose
        if document.start is not old.start or document.places != old.places or left:
            self.shown = self._started()
        elif document.working is not old.working:
            below = old.started if self._last_base is None else self._last_base[1] or old.started
            poses = [posed(below, q).on(document.working) for q in self.shown]
            self.shown = tuple(document.working.legal(pose.flat_q)[0] for pose in poses)
        self.touch()

    def reset(self) -> None:
        """Return to the start pose."""
        self.shown, self.driven = self._started(), None
        self.touch()

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Solve results of the displayed poses; empty after a change."""
        return () if self._dirty else tuple(self._outcomes)

    def restore(self, shown: tuple[Floats, ...], outcomes: tuple[Outcome, ...]) -> None:
        """Restore displayed poses of a snapshot. Converged solves are not repeated, since they might move on."""
        self.shown = shown
        self.touch()
        if outcomes and self.document.run == "live" and self.playhead.clip is None:
            self._outcomes, self._kept = list(outcomes), True

    def touch(self) -> None:
        """Mark the poses for a new solve."""
        self._dirty, self._settled, self._kept, self._unsaid = True, False, False, True
        self._curves = [[], []]

    def start_over(self) -> None:
        """Start the next solve from the start pose. This shows the effect of another method."""
        self._afresh = True
        self.touch()

    def say_again(self) -> None:
        """Request a new answer without a new solve."""
        self._unsaid = True

    def failed(self) -> None:
        """Stop solving until the next change, after an exception."""
        self._dirty, self._settled, self.steps, self.playhead.playing = False, True, 0, False
        self._solvings.clear()

    def _started(self) -> tuple[Floats, ...]:
        q = np.repeat(self.document.started.q[None], len(self.document.places), axis=0)
        return (q, q)

    # --- when ------------------------------------------------------------------------------------------------------

    @property
    def _runs(self) -> bool:
        """Whether poses change without user input."""
        iterates = self.document.run == "iterate" and not self._settled and not self.document.driven
        return self.playhead.playing or iterates

    def due(self) -> bool:
        """Return whether a pose must be computed now."""
        return self._dirty or self.steps > 0 or (self._runs and time.perf_counter() - self._last >= _FRAME)

    def answer_due(self) -> bool:
        """Return whether an answer must be sent now."""
        return self._unsaid and not self._dirty and time.perf_counter() - self._answered >= _ANSWER

    def pause(self, *, free: bool) -> float | None:
        """Compute the idle time [s] until the next work. None means until the next action."""
        now, waits = time.perf_counter(), list[float]()
        if free and (self._dirty or self.steps):
            return 0.0
        if free and self._runs:
            waits.append(self._last + _FRAME - now)
        if self._unsaid and not self._dirty:
            waits.append(self._answered + _ANSWER - now)
        return max(min(waits), 0.0) if waits else None

    # --- poses -----------------------------------------------------------------------------------------------------

    def frame(self) -> StageFrame:
        """Compute the next frame."""
        return self.finish(self.begin()())

    def begin(self) -> Work:
        """Build the solve of the next frame as a function.

        It touches no state of this object, so any thread may run it.
        """
        now = time.perf_counter()
        self.playhead.advance(min(now - self._last, _LONGEST))
        self._last, self._dirty = now, False
        if self.document.driven or self._kept:
            return list
        base = self._base()
        works = [self._to_solve(view, base) for view in range(self.document.views)]
        return lambda: [work() for work in works]

    def finish(self, outcomes: list[Outcome]) -> StageFrame:
        """Store solve results and build their frame."""
        if self.document.driven:
            self.steps = 0
            return self._framed([self._given()])
        for view, outcome in enumerate(outcomes):
            self._show(view, outcome)
        self.steps, self._unsaid, self._afresh = max(self.steps - 1, 0), True, False
        self._settled = all(self._rests(view) for view in range(self.document.views))
        return self.still()

    def give_up(self) -> StageFrame:
        """Cancel the running solve and keep the displayed poses."""
        self.steps, self._unsaid, self._afresh, self._settled = 0, True, False, True
        self.playhead.playing = False
        self._solvings.clear()  # the cancelled task may still change them
        return self.still()

    def still(self) -> StageFrame:
        """Build a frame of the displayed poses."""
        base = self._base()
        return self._framed([posed(base, q) for q in self.shown[: self.document.views]])

    def ghost(self) -> bytes:
        """Pack the start pose as a message."""
        rows = _rows([self.document.started])
        return pack_poses(GHOST, rows, 0, Head(version=self.version))

    def _base(self) -> Pose:
        """Return the base pose of the chains: clip or start."""
        working = self.document.working
        key = (self.playhead.clip, self.playhead.time, working)
        if self._last_base is None or self._last_base[0] != key:  # same pose, same packed solvers
            self._last_base = (key, self.playhead.pose(working))
        pose = self._last_base[1]
        return self.document.started if pose is None else pose

    def _given(self) -> Pose:
        """Return the pose of a program."""
        return self.document.started if self.driven is None else self.driven

    def pose_of(self, view: int) -> Pose:
        """Build the displayed pose of a view's first character."""
        if self.document.driven:
            shown = self._given()
            return shown[0] if shown.shape else shown
        return self._base().with_q(self.shown[view][0])

    def poses(self) -> Pose:
        """Build the displayed poses of view A, all characters. It is a batch for a crowd."""
        return self._given() if self.document.driven else posed(self._base(), self.shown[0])

    def _to_solve(self, view: int, base: Pose) -> Callable[[], Outcome]:
        """Build the solve of one view as a function."""
        document, q = self.document, self.shown[view]
        plays, iterates = self.playhead.clip is not None, document.run != "live"
        if plays or self._afresh or (document.origin == "start" and not iterates):
            q = np.repeat(base.q[None], len(q), axis=0)
        if not document.active or (document.run == "step" and not self.steps):
            sentence = _PAUSED if document.active else _PLAYS if plays else _NO_CHAIN
            return lambda: Outcome(q, q, sentence=sentence)
        solving, first, chains = self.solving(view, base), self._first(view), document.active

        def work() -> Outcome:
            outcome = solving(chains, q)
            return solving(chains, q) if first else outcome  # the first solve compiles and packs; the second is timed

        return work

    def _show(self, view: int, outcome: Outcome) -> None:
        self._outcomes[view] = outcome
        shown = list(self.shown)
        shown[view] = outcome.q
        self.shown = tuple(shown)
        if self.document.run != "live":
            self._curves[view] = [*self._curves[view], outcome.left][-_CURVE:]

    def solving(self, view: int, base: Pose) -> Solving:
        """Return the packed solver of a view. It is rebuilt after any change except of targets."""
        document, choice = self.document, self.document.solvers[view]
        shapes = tuple(chain.shape for chain in document.active)
        key = (choice, shapes, document.run, document.tolerance, document.free_root, document.places)
        made = self._solvings.get(view)
        if made is None or made[0] != key or made[1].base is not base:
            self._solvings[view] = made = (key, Solving(document, base, choice))
        return made[1]

    def compiles(self) -> str | None:
        """Return a solver with its first solve ahead. It may have to compile."""
        document = self.document
        if document.driven or not document.active:
            return None
        first = (v for v in range(document.views) if self._kind(v) not in self._known)
        return next((document.solvers[view].name for view in first), None)

    def _first(self, view: int) -> bool:
        """Return whether these goal kinds are new to the solver. The call records them."""
        kind = self._kind(view)
        if kind in self._known:
            return False
        self._known.add(kind)
        return True

    def _kind(self, view: int) -> object:
        document = self.document
        goals = tuple((chain.kind, chain.pole is None) for chain in document.active)
        return (document.solvers[view].name, goals, len(document.places) > 1)

    def _rests(self, view: int) -> bool:
        """Return whether another iteration would change nothing."""
        outcome = self._outcomes[view]
        return outcome.status == Status.reached or not outcome.moved

    def _framed(self, poses: list[Pose]) -> StageFrame:
        flags = PLAYING * self.playhead.playing + ITERATING * (self.document.run == "iterate" and not self._settled)
        solved = tuple(Solved(o.status, o.seconds * 1e6, o.left, o.iterations) for o in self._outcomes)
        return StageFrame(_rows(poses), Head(self.serial, self.playhead.time, flags, self.version, solved))

    # --- answers ---------------------------------------------------------------------------------------------------

    def answer(self) -> dict[str, Any]:
        """Build the answer message of the last solve.

        It has sentences, error curves, joints at their limits and the selected joint.
        """
        self._answered, self._unsaid = time.perf_counter(), False
        document, base = self.document, self._base()
        single = self.pose_of(0)
        joints = dict.fromkeys(joint for chain in document.active for joint in chain.joints(document.skeleton))
        if self.selected is not None:
            joints[self.selected] = None
        return {
            "kind": "answer",
            "version": self.version,
            "views": [self._make_answer(view, base, list(joints)) for view in range(document.views)],
            "selected": None if self.selected is None else selected(single, self.selected),
        }

    def _make_answer(self, view: int, base: Pose, joints: list[str]) -> dict[str, Any]:
        """Build the answer of one view."""
        pose = self.pose_of(view)
        at_ends = at_limit(pose, joints)
        resting = find_unmoved(pose, self.document.start, at_ends)
        return answer_view(self._told(view), self._curve(view, base), at_ends, resting)

    def _told(self, view: int) -> Outcome:
        """Return a view's outcome, with a note for missing curves."""
        outcome = self._outcomes[view]
        slow = outcome.seconds > _TRACED and self.document.run == "live"
        return dataclasses.replace(outcome, note=outcome.note or _NO_CURVE) if slow else outcome

    def _curve(self, view: int, base: Pose) -> list[float] | None:
        """Find the error per iteration of a view.

        It comes from the steps so far, or from the last solve repeated with a trace.
        """
        document, outcome = self.document, self._outcomes[view]
        if document.run != "live":
            return [error for error in self._curves[view] if error == error] or None  # noqa: PLR0124  (not NaN)
        if document.driven or not document.active or outcome.seconds > _TRACED:
            return None
        return self.solving(view, base).curve(document.active, self._watched(), outcome.start)

    def _watched(self) -> int:
        """Return the index of the chain with the error curve. It is the last moved chain, else the first."""
        names = [chain.id for chain in self.document.active]
        return names.index(self.dragged) if self.dragged in names else 0


def _rows(poses: list[Pose]) -> NDArray[np.float32]:
    """(views, characters, joints, width)."""
    width = max(width_of(pose) for pose in poses)
    rows = [frame_rows(pose, width) for pose in poses]
    return np.stack([row if row.ndim == 3 else row[None] for row in rows])  # noqa: PLR2004

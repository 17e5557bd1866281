"""Session thread: owns the document, runs actions, solves.

    Inbox -> actions, commands -> Document -> PoseState.begin_frame() -> Outbox

A pose is computed after a change when the page waits for one. Only the newest target is solved, never the ones before.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from poise.errors import PoiseError, UnknownNameError
from poise.model import plain
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.document import Document
from poise.viewer.protocol import text
from poise.viewer.session import commands
from poise.viewer.session.follow import follow, follow_clip
from poise.viewer.session.history import History, Moment
from poise.viewer.session.jobs import Aside, Awaited, Jobs
from poise.viewer.session.outbox import Inbox, Outbox
from poise.viewer.session.receiving.uploads import Uploads
from poise.viewer.session.stage import Stage, StageFrame
from poise.viewer.session.state import state_of
from poise.viewer.solving import Outcome

_TELL = 1 / 30  # [s] between two state messages
_FIRST = 0.15  # [s] that the first pose of a rig waits for its solve before it is sent unsolved
_DRAWN, _GLANCE = 3.0, 0.05  # [s] timeout for drawing the first pose; polling interval
_SLOW = 0.3  # [s] of a solve after which the page shows its progress and a cancel button
_KEPT = 50  # remembered saved documents
_SOLVING = 0  # reserved job number of the running solve
_DRAGS = ("start", "move", "end")
_CHANGES_MORE = ("turn", "limit")  # actions that change more than the dragged object: the state is sent during the drag
_ENDS_DRAG = ("undo", "redo", "reset", "scene", "upload_done")  # a drag continued after these is another step of undo


class Studio:
    """Thread with the document of a session.

    Only `start`, `close`, `cancel`, `greet` and the `post_*` methods may be called from other threads.
    """

    def __init__(self, document: Document, outbox: Outbox | None = None) -> None:
        self.outbox = outbox or Outbox()
        self.inbox = Inbox()
        self.history = History()
        self.stage = Stage(document)
        self.opened = document  # the menu of scenes leads back to it
        self.kept = [document]
        self.uploads = Uploads()
        self.models = self.files = 0  # sent so far
        self.planted: dict[tuple[object, ...], Clip] = {}  # by clip and terrain: planting is slower than playing
        self.listeners: list[Callable[[Document], None]] = []
        self._jobs, self._aside = Jobs(), Aside()
        self._solve: Awaited[list[Outcome]] | None = None  # the running solve
        self._posed: object = None  # the rig of the last pose on the page
        self._busy: dict[int, str] = {}  # sentences of running jobs, by job number
        self._begun = 0  # number of jobs so far
        self._told, self._untold = 0.0, False
        self._dragged: tuple[str, str] | None = None
        self._open = True
        self._thread = threading.Thread(target=self._work, name="poise-studio", daemon=True)

    # --- from other threads --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and cancel the running solve."""
        self._open = False
        self.inbox.wake()
        self.cancel()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(10)
        self._jobs.close()
        self._aside.leave()
        self.uploads.close()

    def cancel(self) -> None:
        """Cancel the running solve. The displayed pose stays."""
        solve = self._solve
        if solve is not None:
            solve.stop()

    def post(self, action: dict[str, Any]) -> None:
        """Queue an action of the page. Actions reserved for programs are refused."""
        if action["do"] in commands.INTERNAL:
            self.say("error", f"no action {action['do']!r}")
            return
        if action["do"] == "cancel":
            self.cancel()  # at once: the session's thread waits for the solve
        self.inbox.put(action)

    def receive(self, data: bytes) -> None:
        """Queue a part of an uploaded file."""
        self.inbox.put({"do": "chunk", "data": data})

    def greet(self, key: str, scene: str | None) -> None:
        """Queue the greeting of a new page."""
        self._posed = None
        self.inbox.put({"do": "hello", "key": key, "scene": scene})

    def seen(self, number: int) -> None:
        """Mark a frame as drawn by the page."""
        self.outbox.seen(number)
        self.inbox.wake()

    def call(self, change: Callable[[Document], Document]) -> None:
        """Queue a change of the document by a program."""
        self.inbox.put({"do": "call", "change": change})

    def show(self, pose: Pose) -> None:
        """Queue a pose, or a batch side by side, instead of solving."""
        self.inbox.put({"do": "show", "pose": pose, "phase": "move"})

    @property
    def document(self) -> Document:
        """The current document, an immutable value. Reading it needs no lock."""
        return self.stage.document

    # --- the studio's thread -------------------------------------------------------------------------------------

    def _work(self) -> None:
        self._guarded(self._begin)
        while self._open:
            for action in self.inbox.take(self._pause()):
                self._guarded(lambda action=action: self._do(action))
            if self._open and self._untold and time.perf_counter() - self._told >= _TELL:
                self._guarded(self._tell)
            if self._open and self.outbox.free and self.stage.due():
                self._guarded(self._frame)
            if self._open and self.outbox.attached and self.stage.answer_due():
                self._guarded(self._answer)

    def _begin(self) -> None:
        """Start playing the clip of the initial document."""
        follow_clip(self)
        self.stage.playhead.playing = self.document.clip is not None

    def _pause(self) -> float | None:
        if not self.outbox.attached:
            return None
        pauses = [self.stage.pause(free=self.outbox.free)]
        if self._untold:
            pauses.append(max(self._told + _TELL - time.perf_counter(), 0.0))
        return min((pause for pause in pauses if pause is not None), default=None)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Run work and report exceptions on the page. The thread goes on."""
        try:
            work()
        except PoiseError as error:
            self.say("error", str(error))
        except Exception as error:  # noqa: BLE001  (a solver may raise any exception; dragging must go on)
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.say("error", f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})")
            self.stage.failed()
            if work != self._tell:  # sending the state would fail again
                self.tell()

    def say(self, level: str, sentence: str) -> None:
        """Show a message on the page."""
        self.outbox.say({"kind": "message", "level": level, "text": self.uploads.hidden(sentence)})

    def _do(self, action: dict[str, Any]) -> None:
        name = text(action, "do")
        command = commands.COMMANDS.get(name) or commands.INTERNAL.get(name)
        if command is not None:
            self._dragged = None if name in _ENDS_DRAG else self._dragged
            command(self, action)
        elif name in ACTIONS:
            try:
                self._change(name, action)
            except PoiseError:
                self.tell()  # restores the fields of the page
                raise
        else:
            raise UnknownNameError("action", name, [*ACTIONS, *commands.COMMANDS])

    def _change(self, name: str, args: dict[str, Any]) -> None:
        """Apply an action. All moves of one drag are one step of undo."""
        serial = args.get("serial")
        # also for refused actions: the page then releases the gizmo
        self.stage.serial = serial % 2**32 if type(serial) is int else self.stage.serial
        before, action = self.moment(), ACTIONS[name]
        changed = action.make(before.document, args, self.stage.pose_of(0))
        differs = not changed.same(before.document)
        continues = self._drags_on(name, args, differs=differs)
        if differs and action.undoable and not continues:
            self.history.add(action.label, before)
        if name in ("target", "pole"):
            self.stage.dragged = text(args, "chain")
        if action.afresh and differs:
            self.stage.start_over()
        grounded = name == "target" and changed.chain(text(args, "chain")).ground
        loud = grounded or name in _CHANGES_MORE
        self.put(changed, quiet=args.get("phase") == "move" and continues and not loud)

    def _drags_on(self, name: str, args: dict[str, Any], *, differs: bool) -> bool:
        """Return whether an action continues an effective drag. A drag without effect is no step of undo."""
        phase, what = args.get("phase"), (name, str(args.get("chain", args.get("name", args.get("joint")))))
        continues = phase in _DRAGS[1:] and self._dragged == what
        self._dragged = what if phase in _DRAGS[:2] and (differs or continues) else None
        return continues

    # --- for commands --------------------------------------------------------------------------------------------

    def moment(self) -> Moment:
        """Return a snapshot for undo."""
        return Moment(self.stage.document, self.stage.shown, self.stage.outcomes)

    def put(self, document: Document, *, quiet: bool = False) -> None:
        """Set the document.

        `quiet`: the page knows already, it is dragging.
        """
        old = self.stage.document
        self.stage.put(document)
        self.stage.version += 1
        follow(self, old)
        for listener in self.listeners:
            listener(document)
        if not quiet:
            self.tell()

    def tell(self, *, at_once: bool = False) -> None:
        """Schedule sending of the state, at a limited rate. Building it takes longer than a solve."""
        self._untold = True
        if at_once:
            self._tell()

    def _tell(self) -> None:
        self._told, self._untold, stage = time.perf_counter(), False, self.stage
        state = state_of(stage.document, stage.playhead, self.history, stage.version)
        opened = None if self.opened.scene is not None else self.opened.name
        self.kept = self.kept[-_KEPT:]
        unsaved = not (self.document.driven or any(self.document.same_work(kept) for kept in self.kept))
        self.outbox.say({**state, "serial": stage.serial, "opened": opened, "unsaved": unsaved})

    def job(
        self,
        sentence: str,
        work: Callable[[], Any],
        done: Callable[[Any], None],
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        """Run a job in the background.

        `done` gets the outcome on the session's thread; after an exception `failed` is called, and the message is
        shown.
        """
        self._begun += 1
        number = self._begun

        def end(made: Any, error: Exception | None) -> None:
            self.busy(number, None)
            if error is None:
                done(made)
                return
            failed()
            raise error

        self._jobs.add(work, lambda made, error: self.inbox.put({"do": "after", "work": lambda: end(made, error)}))
        self.busy(number, sentence)

    def busy(self, number: int, sentence: str | None, *, cancel: bool = False) -> None:
        """Set or, with None, remove the sentence of a job."""
        self._busy.pop(number, None)
        if sentence is not None:
            self._busy[number] = sentence
        self.say_busy(cancel=cancel)

    def say_busy(self, *, cancel: bool = False) -> None:
        """Send the latest running job, and whether it is cancellable."""
        message = {"kind": "busy", "text": next(reversed(self._busy.values()), None)}
        self.outbox.say({**message, "cancel": True} if cancel else message)

    def _frame(self) -> None:
        self.outbox.show(self._worked_out().packed)
        self._posed = self.document.rig
        time.sleep(0)  # lets the server send it before the next work

    def _worked_out(self) -> StageFrame:
        """Compute the next frame. A long solve runs on another thread, where the page can cancel it."""
        stage, compiling = self.stage, self.stage.compiles()
        if plain.waits():
            self._show_first()
            self._untold = True  # with kernels loaded, refusals of all solvers are known
        self._solve = solve = self._aside.start(self._after_compiling(stage.begin()))
        try:
            if not solve.wait(_FIRST):
                self._show_meanwhile(solve, compiling)
            if solve.ended:
                return stage.finish(solve.take())
            self._aside.leave()
            self.say("note", "cancelled: the previous answer is shown")
            return stage.give_up()
        finally:
            self._solve = None

    def _show_first(self) -> None:
        """Send the unsolved pose before loading and compiling. Both would keep the page from drawing it."""
        self.outbox.show(self.stage.still().packed)
        self._posed = self.document.rig
        end = time.perf_counter() + _DRAWN
        while self._open and not self.outbox.free and time.perf_counter() < end:
            time.sleep(_GLANCE)
        time.sleep(_GLANCE)

    def _after_compiling(self, work: Callable[[], list[Outcome]]) -> Callable[[], list[Outcome]]:
        """Return the work, preceded by compiling forward kinematics if necessary."""
        if not plain.waits():
            return work
        start = self.document.started

        def ready() -> None:
            again = start.with_q(start.q)  # a copy without cached results
            _ = again.world.rotations, again.local_positions

        return lambda: (plain.compiled(ready), work())[1]

    def _show_meanwhile(self, solve: Awaited[list[Outcome]], compiling: str | None) -> None:
        """Send the unsolved pose and progress of a long solve. It ends with the solve or its cancellation."""
        if self._posed is not self.document.rig:
            self.outbox.show(self.stage.still().packed)
        if compiling is None and not plain.waits() and solve.wait(_SLOW - _FIRST):
            return
        names = dict.fromkeys(choice.name for choice in self.document.solvers[: self.document.views])
        first = compiling is not None or plain.waits()
        waits = "solvers are being loaded, and compiled where this machine has not done so yet ..."
        self.busy(_SOLVING, waits if first else f"solving with {' and '.join(names)} ...", cancel=True)
        try:
            solve.wait()
        finally:
            self.busy(_SOLVING, None)

    def _answer(self) -> None:
        self.outbox.say(self.stage.answer())

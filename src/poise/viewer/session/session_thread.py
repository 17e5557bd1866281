"""Session thread: owns the document, runs actions, solves.

    Inbox -> actions, commands -> Document -> PoseState.begin_frame() -> Outbox

A pose is computed after a change when the page waits for one. Only the newest target is solved, never the ones before.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from poise.errors import InputError, PoiseError, UnknownNameError
from poise.model import numpy_kinematics
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.document import Document
from poise.viewer.document.pulls import settle_pull
from poise.viewer.protocol import read_text
from poise.viewer.session import commands
from poise.viewer.session.commands import sync_clip, sync_document
from poise.viewer.session.message_queues import Inbox, Outbox
from poise.viewer.session.pose_state import PoseFrame, PoseState
from poise.viewer.session.state_messages import build_state
from poise.viewer.session.undo_history import History, Snapshot
from poise.viewer.session.uploads import Uploads
from poise.viewer.session.warm_up import prepare_drags
from poise.viewer.view_solver import ViewOutcome

# --- Background threads: jobs such as saving, and cancellable solves -------------------------------------------------


_MAX_WAITING_JOBS = 4  # waiting jobs; more are refused, since they run one after the other

JobCallback = Callable[[Any, Exception | None], None]
T = TypeVar("T")


class JobQueue:
    """A daemon thread with a queue of jobs. It never keeps a program from ending."""

    def __init__(self) -> None:
        self._queue: queue.Queue[tuple[Callable[[], Any], JobCallback] | None] = queue.Queue(_MAX_WAITING_JOBS)
        self._thread: threading.Thread | None = None

    def add(self, run_job: Callable[[], Any], callback: JobCallback) -> None:
        """Queue a job.

        `callback` gets its outcome or its exception. Raise InputError where too many jobs wait.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="poise-jobs", daemon=True)
            self._thread.start()
        try:
            self._queue.put_nowait((run_job, callback))
        except queue.Full:
            message = "too many jobs are waiting: saving and planting run one after the other"
            raise InputError(message) from None

    def close(self) -> None:
        """Stop after the current job."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put(None)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            run_job, callback = job
            try:
                result = run_job()
            except Exception as error:  # noqa: BLE001  (any error is shown on the page)
                callback(None, error)
            else:
                callback(result, None)


class CancellableTask(Generic[T]):
    """A cancellable task on another thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._condition = threading.Condition()
        self._results: list[T] = []
        self._error: Exception | None = None
        self._has_ended = self._is_cancelled = False

    def run(self) -> None:
        """Run the task. An exception is stored for `take_result`."""
        try:
            results = [self._work()]
        except Exception as error:  # noqa: BLE001  (any error of a solver is shown on the page)
            results, self._error = [], error
        with self._condition:
            if not self._is_cancelled:
                self._results, self._has_ended = results, True
            self._condition.notify_all()

    def cancel(self) -> None:
        """Cancel the task: `wait` returns without it. A late result is ignored."""
        with self._condition:
            self._is_cancelled = True
            self._condition.notify_all()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Return whether it ended or was cancelled in time."""
        with self._condition:
            return self._condition.wait_for(lambda: self._has_ended or self._is_cancelled, timeout_s)

    @property
    def has_result(self) -> bool:
        """Whether it ended before it was cancelled."""
        return self._has_ended

    def take_result(self) -> T:
        """Return the result, or raise the task's exception."""
        if self._error is not None:
            raise self._error
        return self._results[0]


class SolverThread:
    """A thread for one task at a time.

    A cancelled task runs to its end, its result is ignored, and the next task gets a new thread.
    """

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[CancellableTask[Any] | None] | None = None

    def start(self, work: Callable[[], T]) -> CancellableTask[T]:
        """Start a task."""
        if self._tasks is None:
            self._tasks = queue.SimpleQueue()
            threading.Thread(target=_run_tasks, args=(self._tasks,), name="poise-solver", daemon=True).start()
        task = CancellableTask(work)
        self._tasks.put(task)
        return task

    def release(self) -> None:
        """Release the thread. It ends after its current task."""
        if self._tasks is not None:
            self._tasks.put(None)
        self._tasks = None


def _is_sent(sent_state: dict[str, Any], name: str, value: Any) -> bool:
    """Return whether the page has this value already."""
    return name in sent_state and (sent_state[name] is value or sent_state[name] == value)


def _run_tasks(tasks: queue.SimpleQueue[CancellableTask[Any] | None]) -> None:
    while (task := tasks.get()) is not None:
        task.run()


# --- Session thread --------------------------------------------------------------------------------------------------


_STATE_INTERVAL_S = 1 / 30  # [s] between two state messages
_FIRST_POSE_WAIT_S = 0.15  # [s] that the first pose of a rig waits for its solve before it is sent unsolved
_DRAW_TIMEOUT_S, _POLL_INTERVAL_S = 3.0, 0.05  # [s] timeout for drawing the first pose; polling interval
_PROGRESS_DELAY_S = 0.3  # [s] of a solve after which the page shows its progress and a cancel button
_MAX_SETTLING_ROUNDS = 24  # a pinned foot that gave way goes back in two, a gaze from the side in about a dozen
_MAX_SAVED_DOCUMENTS = 50  # remembered saved documents
_SOLVE_JOB = 0  # reserved job number of the running solve
_DRAG_PHASES = ("start", "move", "end")
# actions that change more than the dragged object: the state is sent during the drag
_STATE_CHANGING_ACTIONS = ("turn", "limit")
# a drag continued after these is another step of undo
_DRAG_ENDING_COMMANDS = ("undo", "redo", "reset", "scene", "upload_done")


class SessionThread:
    """Thread with the document of a session.

    Only `start`, `close`, `cancel`, `greet` and the `post_*` methods may be called from other threads.
    """

    def __init__(self, document: Document, outbox: Outbox | None = None) -> None:
        self.outbox: Outbox = outbox or Outbox()
        self.inbox: Inbox = Inbox()
        self.history: History = History()
        self.pose_state: PoseState = PoseState(document)
        self.opened_document = document  # the menu of scenes leads back to it
        self.saved_documents: list[Document] = [document]
        self.uploads: Uploads = Uploads()
        self.asset_count = self.file_count = 0  # sent so far
        self.planted_clips: dict[tuple[object, ...], Clip] = {}  # by clip and terrain: planting is slower than playing
        self.listeners: list[Callable[[Document], None]] = []
        self._jobs, self._preparations, self._solver_thread = JobQueue(), JobQueue(), SolverThread()
        self._running_solve: CancellableTask[Any] | None = None  # the running solve
        self._displayed_rig: object = None  # the rig of the last pose on the page
        self._prepared_rig: object = None  # the rig that is prepared for drags
        self._sent_state: dict[str, Any] = {}  # the state as the page has it
        self._revision = 0  # number of the page's newest change
        self._busy_sentences: dict[int, str] = {}  # sentences of running jobs, by job number
        self._job_count = 0  # number of jobs so far
        self._state_time, self._is_state_pending = 0.0, False
        self._has_state_failed = False  # the last state could not be built, and the page was told
        self._current_drag: tuple[str, str] | None = None
        self._settling_rounds = 0  # poses after which the target of a part that was let go may be put to it
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="poise-session", daemon=True)

    # --- from other threads --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and cancel the running solve."""
        self._is_open = False
        self.inbox.interrupt_take()
        self.cancel()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(10)
        self._jobs.close()
        self._preparations.close()
        self._solver_thread.release()
        self.uploads.close()

    def cancel(self) -> None:
        """Cancel the running solve. The displayed pose stays."""
        task = self._running_solve
        if task is not None:
            task.cancel()

    def post_action(self, action: dict[str, Any]) -> None:
        """Queue an action of the page. Actions reserved for programs are refused."""
        if action["do"] in commands.INTERNAL:
            self.show_message("error", f"no action {action['do']!r}")
            return
        if action["do"] == "cancel":
            self.cancel()  # at once: the session's thread waits for the solve
        self.inbox.put(action)

    def post_data(self, data: bytes) -> None:
        """Queue a part of an uploaded file."""
        self.inbox.put({"do": "chunk", "data": data})

    def greet(self, key: str, scene: str | None) -> None:
        """Queue the greeting of a new page."""
        self._displayed_rig = None
        self.inbox.put({"do": "hello", "key": key, "scene": scene})

    def acknowledge_frame(self, number: int) -> None:
        """Mark a frame as drawn by the page."""
        self.outbox.acknowledge(number)
        self.inbox.interrupt_take()

    def post_change(self, change: Callable[[Document], Document]) -> None:
        """Queue a change of the document by a program."""
        self.inbox.put({"do": "call", "change": change})

    def post_pose(self, pose: Pose) -> None:
        """Queue a pose, or a batch side by side, instead of solving."""
        self.inbox.put({"do": "show", "pose": pose, "phase": "move"})

    @property
    def document(self) -> Document:
        """The current document, an immutable value. Reading it needs no lock."""
        return self.pose_state.document

    # --- the session's thread ------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._run_guarded(self._start_clip)
        while self._is_open:
            for action in self.inbox.take(self._compute_pause()):
                self._run_guarded(lambda action=action: self._run_action(action))
            if self._is_open and self._is_state_pending and time.perf_counter() - self._state_time >= _STATE_INTERVAL_S:
                self._run_guarded(self._send_state_now)
            if self._is_open and self.outbox.can_take_frame and self.pose_state.is_due():
                self._run_guarded(self._send_frame)
            if self._is_open and self.outbox.is_attached and self.pose_state.is_answer_due():
                self._run_guarded(self._send_answer)

    def _start_clip(self) -> None:
        """Start playing the clip of the initial document."""
        sync_clip(self)
        self.pose_state.playhead.is_playing = self.document.clip_name is not None

    def _compute_pause(self) -> float | None:
        if not self.outbox.is_attached:
            return None
        pauses = [self.pose_state.compute_pause(can_send=self.outbox.can_take_frame)]
        if self._is_state_pending:
            pauses.append(max(self._state_time + _STATE_INTERVAL_S - time.perf_counter(), 0.0))
        return min((pause for pause in pauses if pause is not None), default=None)

    def _run_guarded(self, work: Callable[[], None]) -> None:
        """Run work and report exceptions on the page. The thread goes on."""
        try:
            work()
        except PoiseError as error:
            self.show_message("error", str(error))
        except Exception as error:  # noqa: BLE001  (a solver may raise any exception; dragging must go on)
            is_state = work == self._send_state_now
            if not (is_state and self._has_state_failed):  # each change of the document would say it again
                location = traceback.extract_tb(error.__traceback__)[-1]
                self.show_message(
                    "error", f"{type(error).__name__}: {error} ({Path(location.filename).name}, line {location.lineno})"
                )
            self._has_state_failed |= is_state
            self.pose_state.mark_failed()
            if not is_state:  # sending the state would fail again
                self.send_state()

    def show_message(self, level: str, sentence: str) -> None:
        """Show a message on the page."""
        self.outbox.send({"kind": "message", "level": level, "text": self.uploads.hide_paths(sentence)})

    def _run_action(self, action: dict[str, Any]) -> None:
        name, revision = read_text(action, "do"), action.pop("revision", None)
        if type(revision) is int:
            self._revision, self._is_state_pending = revision % 2**32, True  # also for refused ones: the page waits
        command = commands.COMMANDS.get(name) or commands.INTERNAL.get(name)
        if command is not None:
            self._current_drag = None if name in _DRAG_ENDING_COMMANDS else self._current_drag
            self._settling_rounds = 0 if name in _DRAG_ENDING_COMMANDS else self._settling_rounds
            self.pose_state.is_dragging = self.pose_state.is_dragging and name not in _DRAG_ENDING_COMMANDS
            command(self, action)
        elif name in ACTIONS:
            try:
                self._apply_action(name, action)
            except PoiseError:
                self.send_state()  # restores the fields of the page
                raise
        else:
            raise UnknownNameError("action", name, [*ACTIONS, *commands.COMMANDS])

    def _apply_action(self, name: str, args: dict[str, Any]) -> None:
        """Apply an action. All moves of one drag are one step of undo."""
        target_serial = args.get("serial")
        # also for refused actions: the page then releases the handle
        self.pose_state.target_serial = (
            target_serial % 2**32 if type(target_serial) is int else self.pose_state.target_serial
        )
        snapshot, action = self.take_snapshot(), ACTIONS[name]
        new_document = action.apply(snapshot.document, args, self.pose_state.build_view_pose(0))
        has_effect = not new_document.is_same(snapshot.document)
        continues_drag = self._is_drag_continued(name, args, has_effect=has_effect)
        if has_effect and action.is_undoable and not continues_drag:
            self.history.add(action.label, snapshot)
        if name == "pull":
            is_let_go = args.get("phase") == "end" and new_document.pace == "live"
            self._settling_rounds = _MAX_SETTLING_ROUNDS if is_let_go else 0
            self.pose_state.dragged_chain = new_document.pulled
        if name in ("target", "pole"):
            self.pose_state.dragged_chain = read_text(args, "chain")
        if action.restarts_solve and has_effect:
            self.pose_state.start_over()
        is_on_ground = name == "target" and new_document.find_chain(read_text(args, "chain")).stays_on_ground
        needs_state = is_on_ground or name in _STATE_CHANGING_ACTIONS
        self.pose_state.is_dragging = args.get("phase") == "move" and continues_drag
        self.set_document(new_document, is_quiet=self.pose_state.is_dragging and not needs_state)

    def _is_drag_continued(self, name: str, args: dict[str, Any], *, has_effect: bool) -> bool:
        """Return whether an action continues an effective drag. A drag without effect is no step of undo."""
        phase, drag = args.get("phase"), (name, str(args.get("chain", args.get("name", args.get("joint")))))
        continues_drag = phase in _DRAG_PHASES[1:] and self._current_drag == drag
        self._current_drag = drag if phase in _DRAG_PHASES[:2] and (has_effect or continues_drag) else None
        return continues_drag

    # --- for commands --------------------------------------------------------------------------------------------

    def take_snapshot(self) -> Snapshot:
        """Return a snapshot for undo."""
        return Snapshot(self.pose_state.document, self.pose_state.displayed_q, self.pose_state.outcomes)

    def set_document(self, document: Document, *, is_quiet: bool = False) -> None:
        """Set the document.

        `is_quiet`: the page knows already, it is dragging.
        """
        previous = self.pose_state.document
        self.pose_state.set_document(document)
        self.pose_state.document_version += 1
        sync_document(self, previous)
        for listener in self.listeners:
            listener(document)
        if not is_quiet:
            self.send_state()

    def send_state(self, *, at_once: bool = False) -> None:
        """Schedule sending of the state, at a limited rate. Building it takes longer than a solve."""
        self._is_state_pending = True
        if at_once:
            self._send_state_now()

    def _send_state_now(self) -> None:
        self._state_time, self._is_state_pending, pose_state = time.perf_counter(), False, self.pose_state
        state = build_state(
            pose_state.document, pose_state.playhead, pose_state.race, self.history, pose_state.document_version
        )
        opened_name = None if self.opened_document.scene_name is not None else self.opened_document.name
        self.saved_documents = self.saved_documents[-_MAX_SAVED_DOCUMENTS:]
        is_unsaved = not (
            self.document.is_driven or any(self.document.has_same_work(saved) for saved in self.saved_documents)
        )
        state |= {"serial": pose_state.target_serial, "revision": self._revision}
        state |= {"opened": opened_name, "unsaved": is_unsaved}
        changes = {name: value for name, value in state.items() if not _is_sent(self._sent_state, name, value)}
        self._sent_state, self._has_state_failed = state, False
        self.outbox.send({"kind": "state", **changes})

    def forget_sent_state(self) -> None:
        """Forget what was sent: a new page gets the whole state."""
        self._sent_state, self._revision = {}, 0

    def start_job(
        self,
        sentence: str,
        run_job: Callable[[], Any],
        on_done: Callable[[Any], None],
        on_failed: Callable[[], None] = lambda: None,
    ) -> None:
        """Run a job in the background.

        `on_done` gets the outcome on the session's thread; after an exception `on_failed` is called, and the message is
        shown.
        """
        self._job_count += 1
        job_number = self._job_count

        def finish(result: Any, error: Exception | None) -> None:
            self.set_busy(job_number, None)
            if error is None:
                on_done(result)
                return
            on_failed()
            raise error

        self._jobs.add(
            run_job, lambda result, error: self.inbox.put({"do": "after", "work": lambda: finish(result, error)})
        )
        self.set_busy(job_number, sentence)

    def set_busy(self, job_number: int, sentence: str | None, *, can_cancel: bool = False) -> None:
        """Set or, with None, remove the sentence of a job."""
        self._busy_sentences.pop(job_number, None)
        if sentence is not None:
            self._busy_sentences[job_number] = sentence
        self.show_busy(can_cancel=can_cancel)

    def show_busy(self, *, can_cancel: bool = False) -> None:
        """Send the latest running job, and whether it is cancellable."""
        message = {"kind": "busy", "text": next(reversed(self._busy_sentences.values()), None)}
        self.outbox.send({**message, "cancel": True} if can_cancel else message)

    def _send_frame(self) -> None:
        self.outbox.send_frame(self._compute_frame().pack)
        self._displayed_rig = self.document.rig
        if self._prepared_rig is not self.document.rig:
            self._prepare_drags()
        if self._settling_rounds:
            self._settle_pull()
        time.sleep(0)  # lets the server send it before the next work

    def _prepare_drags(self) -> None:
        """Do in the background what the first drag would wait for. Errors are left to the drag itself."""
        self._prepared_rig, document = self.document.rig, self.document
        with contextlib.suppress(InputError):  # too many rigs wait; the first drag does it itself
            self._preparations.add(
                lambda: prepare_drags(document),
                lambda _, error: self.inbox.put({"do": "after", "work": self.send_state}) if error is None else None,
            )

    def _settle_pull(self) -> None:
        """Put the target of a released part at the part."""
        document = settle_pull(self.document, self.pose_state.build_view_pose(0), is_reached=self.pose_state.is_reached)
        self._settling_rounds = 0 if document is self.document else self._settling_rounds - 1
        if document is not self.document:
            self.set_document(document)

    def _compute_frame(self) -> PoseFrame:
        """Compute the next frame. A long solve runs on another thread, where the page can cancel it."""
        pose_state, uncompiled_solver = self.pose_state, self.pose_state.find_uncompiled_solver()
        if numpy_kinematics.are_kernels_pending():
            self._send_unsolved_pose()
            self._is_state_pending = True  # with kernels loaded, refusals of all solvers are known
        task = self._run_task(self._build_compiled_work(pose_state.begin_frame()), uncompiled_solver)
        return pose_state.finish_frame(task.take_result()) if task.has_result else pose_state.cancel_frame()

    def _run_task(self, work: Callable[[], T], uncompiled_solver: str | None = None) -> CancellableTask[T]:
        """Run work on the solver thread, where the page can cancel it."""
        self._running_solve = task = self._solver_thread.start(work)
        try:
            if not task.wait(_FIRST_POSE_WAIT_S):
                self._show_progress(task, uncompiled_solver)
            if not task.has_result:
                self._solver_thread.release()
                self.show_message("note", "cancelled: the previous answer is shown")
        finally:
            self._running_solve = None
        return task

    def _send_unsolved_pose(self) -> None:
        """Send the unsolved pose before loading and compiling. Both would keep the page from drawing it."""
        self.outbox.send_frame(self.pose_state.build_still_frame().pack)
        self._displayed_rig = self.document.rig
        deadline = time.perf_counter() + _DRAW_TIMEOUT_S
        while self._is_open and not self.outbox.can_take_frame and time.perf_counter() < deadline:
            time.sleep(_POLL_INTERVAL_S)
        time.sleep(_POLL_INTERVAL_S)

    def _build_compiled_work(self, solve: Callable[[], list[ViewOutcome]]) -> Callable[[], list[ViewOutcome]]:
        """Return the work, preceded by compiling forward kinematics if necessary."""
        if not numpy_kinematics.are_kernels_pending():
            return solve
        start_pose = self.document.solver_start

        def compile_kernels() -> None:
            pose = start_pose.with_q(start_pose.q)  # a copy without cached results
            _ = pose.world.rotations, pose.local_positions

        return lambda: (numpy_kinematics.compile_kernels(compile_kernels), solve())[1]

    def _show_progress(self, task: CancellableTask[Any], uncompiled_solver: str | None) -> None:
        """Send the unsolved pose and progress of a long solve. It ends with the solve or its cancellation."""
        if self._displayed_rig is not self.document.rig:
            self.outbox.send_frame(self.pose_state.build_still_frame().pack)
        if (
            uncompiled_solver is None
            and not numpy_kinematics.are_kernels_pending()
            and task.wait(_PROGRESS_DELAY_S - _FIRST_POSE_WAIT_S)
        ):
            return
        names = dict.fromkeys(choice.name for choice in self.document.solvers[: self.document.view_count])
        is_first = uncompiled_solver is not None or numpy_kinematics.are_kernels_pending()
        sentence = "solvers are being loaded, and compiled where this machine has not done so yet ..."
        self.set_busy(_SOLVE_JOB, sentence if is_first else f"solving with {' and '.join(names)} ...", can_cancel=True)
        try:
            task.wait()
        finally:
            self.set_busy(_SOLVE_JOB, None)

    def _send_answer(self) -> None:
        request = self.pose_state.begin_answer(is_moving=self.pose_state.is_moving)
        task = self._run_task(request.compute)
        if not task.has_result:
            self.pose_state.cancel_answer()
            return
        message = self.pose_state.finish_answer(request, task.take_result())
        if message is not None:
            self.outbox.send(message)

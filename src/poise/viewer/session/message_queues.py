"""Message queues between the server's and the session's thread.

Control messages keep their order. A frame is a message of poses. Only the newest frame is kept, and it is sent after
the last one was acknowledged: a slow page skips frames instead of showing them late.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

_START_POSE = "start pose"  # kind of the binary message of the start pose
# a newer message of these kinds replaces a waiting one; of a state only what it names
_REPLACEABLE_KINDS = ("state", "answer", "busy", _START_POSE, "marks")
_STATE = "state"
_MOVE_PHASE = "move"
_MAX_MESSAGES, _MAX_BYTES = 2000, 400_000_000  # waiting control messages of a page, and their size [bytes]


class _QueuedMessage(NamedTuple):
    """Control message and its binary messages, in the order of sending. A state keeps its content."""

    kind: str
    parts: list[str | bytes]
    state: dict[str, Any] | None = None


class _QueuedFrame(NamedTuple):
    """Packed message of poses, with its number."""

    number: int
    data: bytes


class Outbox:
    """Messages to the page. The session thread adds them, the server takes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._messages: deque[_QueuedMessage] = deque()
        self._waiting_frame: _QueuedFrame | None = None
        self._unacknowledged_frame = 0  # number of the sent but unacknowledged frame
        self._frame_count = 0
        self._notify_server: Callable[[], None] | None = None
        self._is_welcome_queued = False
        self._waiting_bytes = 0  # [bytes] of waiting messages
        self.has_overflowed: bool = False  # whether too much waits and the page must be disconnected

    def attach(self, notify_server: Callable[[], None]) -> None:
        """Attach a page.

        `notify_server` is called for each new message. The first message is a welcome.
        """
        with self._lock:
            self._messages.clear()
            self._waiting_frame, self._unacknowledged_frame, self._notify_server, self._is_welcome_queued = (
                None,
                0,
                notify_server,
                False,
            )
            self._waiting_bytes, self.has_overflowed = 0, False

    def detach(self, notify_server: Callable[[], None]) -> None:
        """Detach the page and drop its messages. A page that has taken over stays."""
        with self._lock:
            if self._notify_server is notify_server:
                self._messages.clear()
                self._waiting_frame, self._notify_server = None, None

    @property
    def can_take_frame(self) -> bool:
        """Whether a page waits for a frame."""
        with self._lock:
            return (
                self._is_welcome_queued
                and self._notify_server is not None
                and self._waiting_frame is None
                and not self._unacknowledged_frame
            )

    @property
    def is_attached(self) -> bool:
        """Whether a page is attached."""
        return self._notify_server is not None

    def send(self, message: dict[str, Any], *binary: bytes) -> None:
        """Queue a control message with its binary messages."""
        kind = str(message["kind"])
        if kind != _STATE:
            self._enqueue(kind, [_format_json(message), *binary])
            return
        with self._lock:
            waiting = next((queued.state for queued in self._messages if queued.state is not None), {})
        self._enqueue(kind, [_format_json(waiting | message)], waiting | message)

    def send_start_pose(self, message: bytes) -> None:
        """Queue the start pose among the control messages."""
        self._enqueue(_START_POSE, [message])

    def _enqueue(self, kind: str, parts: list[str | bytes], state: dict[str, Any] | None = None) -> None:
        with self._lock:
            self._is_welcome_queued = self._is_welcome_queued or kind == "welcome"
            if self._notify_server is None or not self._is_welcome_queued:
                return
            if kind in _REPLACEABLE_KINDS:
                self._messages = deque(message for message in self._messages if message.kind != kind)
            self._messages.append(_QueuedMessage(kind, parts, state))
            self._waiting_bytes += sum(map(len, parts))
            if len(self._messages) > _MAX_MESSAGES or self._waiting_bytes > _MAX_BYTES:
                self._messages.clear()
                self.has_overflowed = True
            self._notify_server()

    def send_frame(self, pack: Callable[[int], bytes]) -> int:
        """Queue a frame in place of an older one. `pack` makes the message from its number."""
        with self._lock:
            self._frame_count += 1
            frame_number, notify_server = self._frame_count, self._notify_server
        data = pack(frame_number)
        with self._lock:
            if (
                notify_server is not None and self._notify_server is notify_server and self._is_welcome_queued
            ):  # still the same page
                self._waiting_frame = _QueuedFrame(frame_number, data)
                notify_server()
        return frame_number

    def take(self) -> list[str | bytes]:
        """Return the messages due for sending, in order."""
        with self._lock:
            parts = [part for message in self._messages for part in message.parts]
            self._messages.clear()
            self._waiting_bytes = 0
            if self._waiting_frame is not None and not self._unacknowledged_frame:
                (self._unacknowledged_frame, data), self._waiting_frame = self._waiting_frame, None
                parts.append(data)
            return parts

    def acknowledge(self, frame_number: int) -> None:
        """Mark a frame as drawn by the page. Numbers older than the frame on its way have no effect."""
        with self._lock:
            if frame_number >= self._unacknowledged_frame:
                self._unacknowledged_frame = 0
            if self._waiting_frame is not None and self._notify_server is not None:
                self._notify_server()


def _format_json(message: dict[str, Any]) -> str:
    return json.dumps(message, allow_nan=False, separators=(",", ":"))


class Inbox:
    """Actions from the page, in order. Consecutive moves of one handle are replaced by the newest."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._actions: deque[dict[str, Any]] = deque()
        self._is_take_interrupted = False

    def __len__(self) -> int:
        return len(self._actions)

    def put(self, action: dict[str, Any]) -> None:
        """Add an action. A move replaces an older move of the same handle."""
        with self._ready:
            last_action = self._actions[-1] if self._actions else None
            if last_action is not None and _is_same_move(last_action, action):
                self._actions[-1] = action
            else:
                self._actions.append(action)
            self._ready.notify()

    def interrupt_take(self) -> None:
        """Make `take` return without new actions."""
        with self._ready:
            self._is_take_interrupted = True
            self._ready.notify()

    def take(self, timeout_s: float | None) -> list[dict[str, Any]]:
        """Return all waiting actions. Without any, wait for the first, the timeout or `interrupt_take`."""
        with self._ready:
            if not self._actions and not self._is_take_interrupted:
                self._ready.wait(timeout_s)
            self._is_take_interrupted = False
            actions = list(self._actions)
            self._actions.clear()
            return actions


def _is_same_move(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.get("phase") == b.get("phase") == _MOVE_PHASE and all(
        a.get(key) == b.get(key) for key in ("do", "chain", "name", "joint")
    )

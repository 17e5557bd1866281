"""A page inside the process: what a studio says, without a socket; and what no page should say."""

from __future__ import annotations

import contextlib
import json
import struct
import threading
from collections import defaultdict
from time import monotonic

import numpy as np
from hypothesis import strategies as st

from poise.errors import PoiseError
from poise.viewer.session.session_thread import SessionThread
from tests.timeouts import PATIENCE

HEAD = struct.Struct("<BBBBHHIIfHHI")  # written anew: the layout is the test's own
VIEW = struct.Struct("<BBHff")

#: Anything that JSON can hold: wrong types, empty, huge, deep.
MALFORMED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from([10**400, -(10**400), 1e308, 1e13, "x" * 500, "\ud800", "nan", [], {}, [[]] * 3, [1e400] * 4]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


def refusal(call):
    """The sentence with which a call is refused; None where it goes through. Any other error is a fault."""
    try:
        call()
    except PoiseError as error:
        return str(error)
    return None


def is_sentence(text):
    """Whether a message is short, and one line that can be read."""
    return 0 < len(text) < 700 and text.isprintable()


class Frame:
    """A pose message taken apart."""

    def __init__(self, message):
        (
            self.kind, _, views, width, characters, joints, self.number, self.serial, self.time, self.flags,
            self.race_iteration, self.version,
        ) = HEAD.unpack_from(message)  # fmt: skip
        solved = [VIEW.unpack_from(message, HEAD.size + view * VIEW.size) for view in range(views)]
        self.statuses = [status for status, *_ in solved]
        self.status, _, self.iterations, self.microseconds, self.left = solved[0]
        data_start = HEAD.size + views * VIEW.size
        self.rows = np.frombuffer(message, "<f4", offset=data_start).reshape(views, characters, joints, width)


class Watcher:
    """The page of a studio: takes what it is sent and acknowledges frames unless told not to."""

    def __init__(self, studio, *, scene=None):
        self.studio, self.scene = studio, scene
        self.messages_shown, self.binaries, self.frames = [], [], []
        self.acknowledges = True
        self._ready = threading.Event()
        self._wake = self._ready.set
        studio.outbox.attach(self._wake)
        studio.greet("key", scene)

    def leave(self):
        self.studio.outbox.detach(self._wake)

    def newest(self, kind):
        """The last message of a kind, or None."""
        return next(
            (message_text for message_text in reversed(self.messages_shown) if message_text["kind"] == kind), None
        )

    def all(self, kind):
        return [message_text for message_text in self.messages_shown if message_text["kind"] == kind]

    @property
    def errors(self):
        return [message_text["text"] for message_text in self.all("message") if message_text["level"] == "error"]

    @property
    def state(self):
        """The document as it was told last; None for everything before it was."""
        return self.newest("state") or defaultdict(lambda: None)

    @property
    def frame(self):
        return self.frames[-1] if self.frames else None

    def send(self, do, **args):
        self.studio.post_action({"do": do, **args})

    def until(self, wanted):
        """Take what comes until `wanted(page)`; gives what that returned."""
        end = monotonic() + PATIENCE
        while not (found := wanted(self)):
            assert monotonic() < end, [str(message_text)[:200] for message_text in self.messages_shown[-5:]]
            self._ready.wait(0.05)
            self._ready.clear()
            for part in self.studio.outbox.take():
                self._take(part)
        return found

    def _take(self, part):
        if isinstance(part, str):
            message_text = json.loads(part)
            if message_text["kind"] == "state":  # it has what has changed
                message_text = (self.newest("state") or {}) | message_text
            self.messages_shown.append(message_text)
            return
        if part[0] != 1:
            self.binaries.append(part)
            return
        self.frames.append(Frame(part))
        if self.acknowledges:
            self.studio.acknowledge_frame(self.frame.number)

    def answered(self, serial):
        """Take what comes until the target of this number is answered."""
        return self.until(lambda page: page.frame is not None and page.frame.serial == serial and page.frame)


@contextlib.contextmanager
def watched(document, *, scene=None):
    """A studio at work with a page; closed afterwards."""
    studio = SessionThread(document)
    studio.start()
    try:
        yield Watcher(studio, scene=scene)
    finally:
        studio.close()
    assert not studio._thread.is_alive()


def same(a, b):
    """Whether two documents are the same value: field by field, arrays bit for bit."""
    parts = ("name", "chains", "solvers", "view_count", "limit_mode", "pace", "solve_start", "tolerance", "free_root",
             "scope", "pulled", "pull_share", "character_positions", "clip_name", "keys", "plants_feet",
             "terrain_spec", "handles", "controls", "is_driven", "idles", "scene_name", "package_folders",
             "retargeting")  # fmt: skip
    return (
        all(getattr(a, part) == getattr(b, part) for part in parts)
        and a.rig is b.rig
        and a.skeleton.limits == b.skeleton.limits
        and a.start.q.tobytes() == b.start.q.tobytes()
    )


def shows(shown):
    """The poses of all views as bytes."""
    return [q.tobytes() for q in shown]

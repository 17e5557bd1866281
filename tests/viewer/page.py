"""A page without a browser: it says hello, takes frames and messages, and sends actions."""

from __future__ import annotations

import contextlib
import json
import struct
from time import monotonic
from typing import NamedTuple

import numpy as np
from websockets.sync.client import connect

from tests.timeouts import PATIENCE


class Shown(NamedTuple):
    """A pose message: kind, and rows (views, characters, joints, width)."""

    kind: int
    frame: int
    rows: np.ndarray


class Page:
    """One page of a viewer; `state`, `model` and `shown` are the newest that came."""

    def __init__(self, socket):
        self.socket = socket
        self.messages = []
        self.kinds = {}
        self.shown = None

    @property
    def state(self):
        return self.kinds.get("state")

    def send(self, do, **arguments):
        self.socket.send(json.dumps({"do": do, **arguments}))

    def until(self, wanted, what="what was waited for"):
        """Take messages until `wanted(page)`; frames are acknowledged."""
        end = monotonic() + PATIENCE
        while not wanted(self):
            assert monotonic() < end, f"{what} did not come; messages: {self.messages[-5:]}"
            with contextlib.suppress(TimeoutError):
                self._take(self.socket.recv(timeout=0.2))
        return self

    def _take(self, message):
        if isinstance(message, str):
            message_text = json.loads(message)
            if message_text["kind"] == "state":  # it has what has changed
                message_text = (self.kinds.get("state") or {}) | message_text
            self.kinds[message_text["kind"]] = message_text
            self.messages.append(message[:300])
            return
        kind, _, views, width, characters, joints, frame = struct.unpack_from("<BBBBHHI", message)
        if kind not in (1, 2):
            return
        rows = np.frombuffer(message, "<f4", offset=28 + 12 * views).reshape(views, characters, joints, width)
        if kind == 1:
            self.shown = Shown(kind, frame, rows)
            self.send("seen", frame=frame)


@contextlib.contextmanager
def page_at(url):
    """Open the address as a browser would."""
    host, _, token = url.partition("/?token=")
    with connect(host.replace("http", "ws") + "/socket", origin=host) as socket:
        page = Page(socket)
        page.send("hello", token=token)
        yield page

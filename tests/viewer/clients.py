"""Clients of a viewer's server: pages, and those that are none."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from time import monotonic

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.timeouts import PATIENCE
from tests.viewer.action_cases import HAND
from tests.viewer.page import page_at

CHAIN = {"chain": "left_arm"}


def ask(server, request, *, host=None, then=b""):
    """Send bytes as they are; gives status and answer, both empty where the connection is just closed."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
        name = f"127.0.0.1:{server.port}" if host is None else host
        raw.sendall(request.replace(b"HOST", name.encode()) + then)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := raw.recv(65536):
                answer += part
    status = int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else 0
    return status, answer


def get(server, path, host=None):
    return ask(server, b"GET " + path + b" HTTP/1.1\r\nHost: HOST\r\n\r\n", host=host)


def opened(server, **options):
    """A socket to the server as its own page opens it."""
    origin = options.pop("origin", f"http://127.0.0.1:{server.port}")
    return connect(f"ws://127.0.0.1:{server.port}/socket", origin=origin, **options)


def hello(client, **args):
    client.send(json.dumps({"do": "hello", **args}))


def closed_with(client):
    """The code with which a connection ends; what comes before is let go."""
    end = monotonic() + PATIENCE
    while True:
        try:
            client.recv(timeout=max(end - monotonic(), 0.0))
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


def token_of(server):
    return server.url.partition("token=")[2]


def works(server):
    """A page can come, drag, and is answered."""
    with page_at(server.url) as page:
        page.until(lambda page: page.state is not None and page.shown is not None)
        first = page.shown.frame
        page.send("target", **CHAIN, position=HAND, serial=5)
        page.until(lambda page: page.shown.frame > first and page.state["undo"] == "move target")
    return True


def upgrade(origin):
    lines = (
        "GET /socket HTTP/1.1", "Host: HOST", "Upgrade: websocket", "Connection: Upgrade", f"Origin: {origin}",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode()


def ask_socket(server, request, host):
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
        raw.sendall(request.replace(b"HOST", host.encode()))
        return int(raw.recv(100).split(b" ")[1])


def eventually(wanted):
    """Wait until something that another thread does is done."""
    end, pause = monotonic() + PATIENCE, threading.Event()
    while not wanted():
        assert monotonic() < end
        pause.wait(0.005)

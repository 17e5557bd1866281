"""A page and the server: drags, floods, lost connections, solvers that raise; starting and stopping."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

import poise
from poise.solvers.base.interface import Status
from poise.viewer import server as servers
from poise.viewer.document.actions import ACTIONS
from poise.viewer.server import Server
from poise.viewer.session import commands
from poise.viewer.session.session_thread import SessionThread
from poise.viewer.view_solver import ViewSolver
from tests.timeouts import PATIENCE
from tests.viewer.action_cases import HAND, everything, rig
from tests.viewer.clients import CHAIN, closed_with, eventually, hello, opened, token_of, works
from tests.viewer.page import page_at
from tests.viewer.watcher import is_sentence


@pytest.fixture
def server():
    with Server(SessionThread(everything())) as running:
        yield running


@pytest.fixture
def page(server):
    with page_at(server.url) as opened_page:
        yield opened_page.until(lambda page: page.state is not None and page.shown is not None)


def message_text(page, words):
    """Wait for a message with these words."""
    page.until(lambda page: words in page.kinds.get("message", {}).get("text", ""), words)
    return page.kinds["message"]


def hand_of(page):
    return page.shown.rows[0, 0, rig().skeleton.index("LeftHand"), :3]


class TestMessages:
    @pytest.mark.parametrize(
        "wrong",
        [
            "", "{", "null", '{"do": 3}', '{"do": "x", "n": NaN}', "[" * 60_000, '{"a":' * 8000,
            '{"do": "' + "x" * 9999 + '"}',
            '{"do": "limit", "joint": "LeftArm", "limit": ' + "[" * 900 + "]" * 900 + "}", '{"do": "\\ud800"}',
            '{"do": "target", "chain": "left_arm", "position": [1e999, 0, 0]}', b"binary", b"",
        ],
        ids=lambda wrong: str(wrong)[:20],
    )  # fmt: skip
    def test_malformed_ones_are_answered_with_a_sentence(self, page, wrong):
        page.socket.send(wrong)
        page.until(lambda page: "message" in page.kinds)
        assert page.kinds["message"]["level"] == "error"
        assert is_sentence(page.kinds["message"]["text"])
        page.send("undo")
        message_text(page, "nothing to undo")

    @pytest.mark.parametrize("name", [*commands.INTERNAL, "nothing", "", "__class__"])
    def test_what_is_not_for_pages(self, server, page, name):
        page.send(name, scene="ccd", key="mine", change=None, work=None, pose=None)
        assert f"no action {name!r}" in message_text(page, "no action")["text"]
        assert server.session.document.scene_name is None
        assert page.kinds["welcome"]["key"] != "mine"

    def test_an_oversized_one_ends_the_connection_and_nothing_else(self, server):
        with opened(server) as client:
            hello(client, token=token_of(server))
            client.recv(timeout=PATIENCE)
            with contextlib.suppress(ConnectionClosed):
                client.send('{"do": "' + "x" * 70_000 + '"}')
            assert closed_with(client) == 1009
        with opened(server) as stranger:
            with contextlib.suppress(ConnectionClosed):
                stranger.send("x" * 1_000_000)
            assert closed_with(stranger) == 1009
        assert works(server)

    def test_one_that_is_as_large_as_it_may_be(self, page):
        page.socket.send(json.dumps({"do": "no such", "pad": "x" * 65_000}))
        message_text(page, "no such")

    @pytest.mark.parametrize("frame", [0, -1, 10**30, "1", None, 1.5, [], True])
    def test_an_acknowledgement_of_nothing(self, page, frame):
        page.send("seen", frame=frame)
        page.send("target", **CHAIN, position=HAND, serial=3)
        page.until(lambda page: np.allclose(hand_of(page), HAND, atol=2e-3))

    def test_every_action_is_known(self, page):
        for name in ACTIONS:
            page.send(name)
        page.send("undo", last=True)
        page.send("no such")
        message_text(page, "no such")
        assert not any("no action" in text and "no such" not in text for text in page.messages)


class TestFloods:
    def test_ten_thousand_moves(self, server, page):
        """The newest wins, far fewer are solved, and nothing waits afterwards."""
        solved = page.shown.frame
        page.send("target", **CHAIN, position=HAND, phase="start", serial=0)
        most = 0
        for i in range(1, 10_001):
            page.send("target", **CHAIN, position=[0.4, 1.2, i / 50_000], phase="move", serial=i)
            most = max(most, len(server.session.inbox))
        page.until(lambda page: np.allclose(hand_of(page), [0.4, 1.2, 0.2], atol=2e-3))
        eventually(lambda: server.session.pose_state.target_serial == 10_000)
        assert most <= 256 + 64
        assert len(server.session.inbox) == 0
        assert page.shown.frame - solved < 9_000
        assert len(server.session.history.past) == 1

    def test_a_page_that_reads_nothing_and_sends_everything(self, server):
        """Its messages are taken as fast as they are done, and no more than a few hundred wait."""
        with opened(server, max_queue=1, close_timeout=0.1) as client:
            hello(client, token=token_of(server))
            most = 0
            for i in range(3000):
                client.send(json.dumps({"do": "select", "joint": ["LeftHand", "LeftArm"][i % 2]}))
                most = max(most, len(server.session.inbox))
            assert most <= 256 + 64
        assert works(server)

    def test_a_page_that_acknowledges_nothing_is_sent_one_frame(self, server):
        with opened(server) as client:
            hello(client, token=token_of(server))
            first = client_frame(client)
            frames = []
            for i in range(50):
                client.send(json.dumps({"do": "target", **CHAIN, "position": [0.4, 1.2, i / 500], "serial": i}))
            client.send(json.dumps({"do": "no such"}))
            while True:
                message = client.recv(timeout=PATIENCE)
                frames += [message] if isinstance(message, bytes) and message[0] == 1 else []
                if isinstance(message, str) and "no such" in message:
                    break
            assert frames == []
            client.send(json.dumps({"do": "seen", "frame": int.from_bytes(first[8:12], "little")}))
            newest = client_frame(client)
            assert int.from_bytes(newest[12:16], "little") == 49


def client_frame(client):
    """The next pose message."""
    while True:
        message = client.recv(timeout=PATIENCE)
        if isinstance(message, bytes) and message[0] == 1:
            return message


class TestLosses:
    def test_twenty_reconnects(self, server):
        with page_at(server.url) as page:
            page.until(lambda page: page.shown is not None)
        key = page.kinds["welcome"]["key"]
        threads = threading.active_count()
        for i in range(20):
            with opened(server) as client:
                hello(client, key=key)
                client_frame(client)
                client.send(json.dumps({"do": "target", **CHAIN, "position": [0.4, 1.2, i / 100], "serial": i}))
                eventually(lambda i=i: server.session.pose_state.target_serial == i)
        assert works(server)
        eventually(lambda: threading.active_count() <= threads)
        assert len(server.session.history.past) == 21

    @pytest.mark.parametrize("how", ["closed", "cut", "reset"])
    def test_a_page_that_is_lost_while_it_drags(self, server, how):
        with opened(server) as client:
            hello(client, token=token_of(server))
            client_frame(client)
            client.send(json.dumps({"do": "target", **CHAIN, "position": HAND, "phase": "start", "serial": 1}))
            client.send(json.dumps({"do": "target", **CHAIN, "position": HAND, "phase": "move", "serial": 2}))
            if how == "cut":
                client.socket.shutdown(socket.SHUT_RDWR)
            elif how == "reset":
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.socket.shutdown(socket.SHUT_RDWR)
        eventually(lambda: not server.is_connected)
        with page_at(server.url) as page:
            page.until(lambda page: page.state is not None and page.shown is not None)
            page.send("target", **CHAIN, position=HAND, serial=3)
            page.until(lambda page: np.allclose(hand_of(page), HAND, atol=2e-3))
            page.send("undo")
            page.until(lambda page: page.state["redo"] == "move target")

    def test_who_waits_for_a_page_hears_that_it_has_gone(self, monkeypatch):
        monkeypatch.setattr(servers, "_PAGE_LEFT_DELAY_S", 0.05)
        gone = threading.Event()
        server = Server(SessionThread(everything()))
        server.on_page_left(gone.set)
        with server:
            with page_at(server.url) as page:
                page.until(lambda page: page.shown is not None)
                assert server.is_connected
                assert not gone.is_set()
            assert gone.wait(PATIENCE)
            assert not server.is_connected

    def test_a_reload_is_not_gone(self, monkeypatch):
        """It comes back within the time; that it goes once more later starts a new time."""
        monkeypatch.setattr(servers, "_PAGE_LEFT_DELAY_S", 3600.0)
        server, gone = Server(SessionThread(everything())), []
        server.on_page_left(lambda: gone.append(True))
        with server:
            for _ in range(3):
                with page_at(server.url) as page:
                    page.until(lambda page: page.shown is not None)
                    eventually(lambda: server._leave_task is None or server._leave_task.cancelled())
                eventually(lambda: not server.is_connected)
        assert gone == []


class TestSolversThatRaise:
    @pytest.mark.parametrize("error", [RuntimeError("broken"), RecursionError(), FloatingPointError(), KeyError("x")])
    def test_the_page_learns_and_goes_on(self, page, monkeypatch, error):
        def broken(*_, **__):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(ViewSolver, "_solve_chains", broken)
            page.send("target", **CHAIN, position=HAND, serial=1)
            assert is_sentence(message_text(page, type(error).__name__)["text"])
        page.send("target", **CHAIN, position=HAND, serial=2)
        page.until(lambda page: np.allclose(hand_of(page), HAND, atol=2e-3))
        page.until(lambda page: page.kinds["answer"]["views"][0]["status"] == Status.reached.name)

    @pytest.mark.parametrize("run", ["iterate", "clip"])
    def test_one_error_is_one_message_while_things_move(self, page, monkeypatch, run):
        page.send("run", value="iterate") if run == "iterate" else page.send("clip", name="walk")
        page.send("chain_change", chain="left_arm", enabled=True)
        page.send("play", on=True) if run == "clip" else None
        page.send("target", **CHAIN, position=[5, 5, 5], serial=1)
        page.until(lambda page: page.state["undo"] == "move target")

        def broken(*_, **__):
            raise RuntimeError("broken")

        with monkeypatch.context() as patch:
            patch.setattr(ViewSolver, "_solve_chains", broken)
            message_text(page, "broken")
            page.send("no such")
            message_text(page, "no such")
        assert sum("broken" in text for text in page.messages) <= 2


class TestStartingAndStopping:
    def test_it_stops_at_once_whatever_is_connected(self):
        """Beside a page, a silent client and connections that browsers keep for later."""
        server = Server(SessionThread(everything())).start()
        with contextlib.ExitStack() as stack:
            page = stack.enter_context(page_at(server.url))
            page.until(lambda page: page.shown is not None)
            silent = stack.enter_context(opened(server))
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            began = time.monotonic()
            server.close()
            took = time.monotonic() - began
            assert closed_with(page.socket) == servers.CLOSED_ENDED
            assert closed_with(silent) == 1001
            with contextlib.suppress(ConnectionResetError):
                assert idle.recv(1) == b""
        assert took < servers._HELLO_TIMEOUT_S  # nobody was waited for
        assert not server._thread.is_alive()
        assert not server.session._thread.is_alive()
        server.close()  # once more does nothing

    def test_one_that_was_accepted_when_all_others_had_ended_is_closed(self, monkeypatch):
        class Accepted(asyncio.Protocol):
            def connection_made(self, transport):
                self.transport = transport

        here, there = socket.socketpair()
        end = Server._close_connections

        async def ended_and_accepted(self, serving):
            await end(self, serving)
            _, late = await self._loop.connect_accepted_socket(Accepted, there)
            self._connections.add(late)

        monkeypatch.setattr(Server, "_close_connections", ended_and_accepted)
        Server(SessionThread(everything())).start().close()
        assert there.fileno() == -1
        with here, contextlib.suppress(ConnectionResetError):
            assert here.recv(1) == b""

    def test_no_thread_is_left(self):
        before = set(threading.enumerate())
        with Server(SessionThread(everything())) as server:
            assert works(server)
        left = set(threading.enumerate()) - before
        for thread in left:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in left)

    def test_one_that_was_never_started(self):
        Server(SessionThread(everything())).close()

    def test_a_port_that_is_taken(self, server):
        second = Server(SessionThread(everything()), port=server.port)
        with pytest.raises(poise.InputError, match=f"cannot serve on 127.0.0.1:{server.port}") as caught:
            second.start()
        assert is_sentence(str(caught.value))
        second.close()
        assert works(server)

    @pytest.mark.parametrize(
        "address",
        [{"port": 70_000}, {"port": -1}, {"host": "no.such.host.invalid"}, {"host": "a\0b"}, {"host": "x" * 300}],
    )
    def test_an_address_that_cannot_be(self, address):
        server = Server(SessionThread(everything()), **address)
        with pytest.raises(poise.InputError, match="cannot serve on"):
            server.start()
        server.close()

    @pytest.mark.parametrize("host", ["::1", "localhost", "0.0.0.0", "::"])  # noqa: S104
    def test_other_hosts(self, host):
        if ":" in host and not has_ipv6():
            pytest.skip("this machine has no IPv6 loopback")
        with Server(SessionThread(everything()), host=host) as server, page_at(server.url) as page:
            page.until(lambda page: page.shown is not None)

    def test_the_same_port_again(self):
        with Server(SessionThread(everything())) as server:
            port = server.port
            assert works(server)
        with Server(SessionThread(everything()), port=port) as server:
            assert server.port == port
            assert works(server)


def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False

"""The server over real sockets: what is served, to which names, and who gets in."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket

import pytest
from websockets.exceptions import InvalidStatus

from poise.viewer import server as servers
from poise.viewer.server import Server, find_web_folder
from poise.viewer.session.session_thread import SessionThread
from tests.viewer.action_cases import HAND, everything
from tests.viewer.clients import (
    CHAIN,
    PATIENCE,
    ask,
    ask_socket,
    closed_with,
    eventually,
    get,
    hello,
    opened,
    token_of,
    upgrade,
    works,
)  # fmt: skip
from tests.viewer.page import page_at


@pytest.fixture
def server():
    with Server(SessionThread(everything())) as running:
        yield running


class TestFiles:
    def test_the_page_is_served_with_a_strict_policy(self, server):
        status, answer = get(server, b"/")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert status == 200
        assert body == (find_web_folder() / "index.html").read_bytes()
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        policy = headers["Content-Security-Policy"]
        assert "unsafe-" not in policy
        assert policy.startswith("default-src 'none';")
        assert f"connect-src 'self' blob: data: ws://127.0.0.1:{server.port};" in policy
        for rule in policy.split("; "):
            name, *sources = rule.split(" ")
            assert "*" not in sources
            if name == "script-src":
                assert sources[0] == "'self'"
                assert all(source.startswith("'sha256-") for source in sources[1:])
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert token_of(server).encode() not in answer

    def test_every_file_is_served_under_its_own_name_only(self, server):
        for path in ("/style.css", "/js/main.js", "/index.html", "/js/main.js?v=1"):
            status, answer = get(server, path.encode())
            assert status == 200
            assert answer.endswith((find_web_folder() / path.partition("?")[0][1:]).read_bytes())
            assert b"Content-Security-Policy" in answer

    @pytest.mark.parametrize(
        "path",
        [
            b"/../pyproject.toml", b"/../../server.py", b"/js/../../server.py", b"/..%2fserver.py",
            b"/%2e%2e/server.py",
            b"/%2e%2e%2f%2e%2e%2fetc/passwd", b"/..\\server.py", b"/..%5cserver.py", b"//etc/passwd", b"/etc/passwd",
            b"//index.html", b"/./index.html", b"/js/", b"/js", b"/js/./main.js", b"/js//main.js", b"/JS/MAIN.JS",
            b"/index.html/", b"/index.html%00", b"/index.html\x00.js", b"/%00", b"/..;/server.py", b"/.../server.py",
            b"/%c0%ae%c0%ae/server.py", b"/%252e%252e/server.py", b"/__init__.py", b"/server.py", b"/index%2ehtml",
            b"http://127.0.0.1/index.html", b"file:///etc/passwd", b"*", b"index.html", b"/" + b"a" * 7000,
            b"/" + b"../" * 2000 + b"etc/passwd", b"/third_party/", b"/socket/", b"/Socket", b"/favicon.ico",
        ],
        ids=lambda path: path[:30].decode("latin-1"),
    )  # fmt: skip
    def test_nothing_else_is(self, server, path):
        status, answer = get(server, path)
        assert status in (0, 400, 404, 414)
        assert b"root:" not in answer
        assert b"import" not in answer.partition(b"\r\n\r\n")[2]
        assert works(server)

    @pytest.mark.parametrize("method", [b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"CONNECT", b"get", b"X" * 99])
    def test_files_can_only_be_got(self, server, method):
        for path in (b"/", b"/socket"):
            status, answer = ask(server, method + b" " + path + b" HTTP/1.1\r\nHost: HOST\r\n\r\n")
            assert status in (0, 400, 405, 501)
            assert b"<html" not in answer
        assert works(server)

    @pytest.mark.parametrize(
        "request_",
        [
            b"\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n",
            b"\x16\x03\x01",
            b"GET / HTTP/1.1\r\nHost: HOST\r\n" + b"X: y\r\n" * 5000 + b"\r\n", b"GET / HTTP/1.1\r\nHost HOST\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", b"\xff" * 100_000,
            b"GET / HTTP/1.1\nHost: HOST\n\n",
        ],
        ids=range(10),
    )  # fmt: skip
    def test_noise(self, server, request_, monkeypatch):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as raw:
            with contextlib.suppress(ConnectionError):
                raw.sendall(request_.replace(b"HOST", f"127.0.0.1:{server.port}".encode()))
            raw.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while raw.recv(65536):
                    pass
        assert works(server)


class TestHosts:
    @pytest.mark.parametrize(
        "host",
        ["evil.org", "evil.org:PORT", "evil.org:80", "127.0.0.1:x", "192.168.0.1:PORT", "localhost.evil.org:PORT", "",
         "[::1%; script-src *]:PORT", "127.0.0.1:PORT, evil.org"],
    )  # fmt: skip
    def test_a_name_that_is_not_ours_is_refused(self, server, host):
        """A page of another site whose name was bound to this address (DNS rebinding)."""
        host = host.replace("PORT", str(server.port))
        status, answer = get(server, b"/", host)
        assert status in (400, 403)
        assert b"<html" not in answer
        status, _ = ask(server, upgrade(f"http://{host}"), host=host)
        assert status in (400, 403)

    def test_none_or_two(self, server):
        assert ask(server, b"GET / HTTP/1.1\r\n\r\n")[0] == 403
        assert ask(server, b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n")[0] in (400, 403)

    def test_localhost_is(self, server):
        host = f"localhost:{server.port}"
        status, answer = get(server, b"/", host)
        assert status == 200
        assert f"ws://{host};".encode() in answer
        assert ask_socket(server, upgrade(f"http://{host}"), host) == 101

    def test_a_tunnel_begins_at_another_port(self, server):
        """As SSH and editors forward it; the token still counts, and pages of other local ports stay out."""
        host = "localhost:19999"
        status, answer = get(server, b"/", host)
        assert status == 200
        assert f"ws://{host};".encode() in answer
        assert ask_socket(server, upgrade(f"http://{host}"), host) == 101
        for origin in ("http://localhost:3000", f"http://localhost:{server.port}", "http://evil.org"):
            assert ask_socket(server, upgrade(origin), host) == 403

    def test_a_refused_name_suggests_the_way_out(self, server):
        assert b"open it as localhost" in get(server, b"/", "studio.example.org")[1]


class TestWhoGetsIn:
    @pytest.mark.parametrize(
        "origin",
        [None, "null", "http://evil.org", "http://127.0.0.1", "https://127.0.0.1:PORT", "http://localhost:PORT",
         "http://127.0.0.1:PORT.evil.org", "http://127.0.0.1:PORT/", "HTTP://127.0.0.1:PORT", "file://", ""],
    )  # fmt: skip
    def test_other_origins_do_not(self, server, origin):
        given = None if origin is None else origin.replace("PORT", str(server.port))
        with pytest.raises(InvalidStatus) as caught, opened(server, origin=given):
            pass
        assert caught.value.response.status_code == 403
        assert works(server)

    def test_two_origins_do_not(self, server):
        ours = f"http://127.0.0.1:{server.port}"
        request = upgrade(f"{ours}\r\nOrigin: {ours}")
        assert ask_socket(server, request, ours.removeprefix("http://")) == 403

    @pytest.mark.parametrize(
        "first",
        [
            {"do": "hello"}, {"do": "hello", "token": ""}, {"do": "hello", "token": None, "key": None},
            {"do": "hello", "token": "x" * 32}, {"do": "hello", "key": "x" * 32}, {"do": "hello", "token": "\ud800"},
            {"do": "hello", "token": ["TOKEN"]}, {"do": "hello", "key": "TOKEN"}, {"do": "hello", "token": "TOKEN "},
            {"do": "undo", "token": "TOKEN"}, {"token": "TOKEN"}, {"do": "hello", "token": "TOKEN", "scene": 7}, [],
            "TOKEN",
            b"TOKEN",
        ],
        ids=str,
    )  # fmt: skip
    def test_without_a_good_first_message_none_does(self, server, first):
        token = token_of(server)
        message = first.replace(b"TOKEN", token.encode()) if isinstance(first, bytes) else json.dumps(first)
        with opened(server) as client:
            client.send(message if isinstance(message, bytes) else message.replace("TOKEN", token))
            assert closed_with(client) == servers.CLOSED_REFUSED
        assert not server.is_connected
        assert token_of(server) == token  # it was not used up
        assert works(server)

    def test_a_token_is_good_once(self, server):
        token = token_of(server)
        with opened(server) as client:
            hello(client, token=token)
            assert json.loads(client.recv(timeout=PATIENCE))["kind"] == "welcome"
        for again in ({"token": token}, {"key": token}):
            with opened(server) as client:
                hello(client, **again)
                assert closed_with(client) == servers.CLOSED_REFUSED
        assert token_of(server) != token

    def test_the_key_of_a_page_is_good_for_its_reloads(self, server):
        with page_at(server.url) as page:
            page.until(lambda page: "welcome" in page.kinds)
        key = page.kinds["welcome"]["key"]
        for _ in range(3):
            with opened(server) as client:
                hello(client, key=key)
                assert json.loads(client.recv(timeout=PATIENCE))["key"] == key
        with page_at(server.url) as other:
            other.until(lambda page: "welcome" in page.kinds)
        with opened(server) as client:
            hello(client, key=key)
            assert closed_with(client) == servers.CLOSED_REFUSED  # another page has the viewer now

    def test_the_token_of_a_notebook_is_good_in_one_browser(self, server):
        token, browser, other = server.access.make_notebook_token(), "b" * 36, "c" * 36
        for _ in range(3):
            with opened(server) as client:
                hello(client, token=token, browser=browser)
                assert json.loads(client.recv(timeout=PATIENCE))["kind"] == "welcome"
        for again in ({"token": token}, {"token": token, "browser": other}, {"token": f"{token}x", "browser": browser}):
            with opened(server) as client:
                hello(client, **again)
                assert closed_with(client) == servers.CLOSED_REFUSED

    def test_the_token_of_a_notebook_needs_the_name_of_a_browser(self, server):
        token = server.access.make_notebook_token()
        for name in (None, "", "short", 7):
            with opened(server) as client:
                hello(client, token=token, browser=name)
                assert closed_with(client) == servers.CLOSED_REFUSED
        assert server.access.admit(token, None, "b" * 36)  # nobody has used it up

    def test_the_cell_of_another_viewer_finds_no_page(self, server):
        """Its notebook shows the picture that it has."""
        own, name = server.make_notebook_url(), f"127.0.0.1:{server.port}"
        for path, code in ((own.partition(name)[2], 200), ("/?notebook", 200), ("/?notebook&token=other", 404)):
            connection = http.client.HTTPConnection(name, timeout=PATIENCE)
            connection.request("GET", path)
            assert connection.getresponse().status == code, path
            connection.close()

    def test_who_says_nothing_is_sent_away(self, monkeypatch):
        monkeypatch.setattr(servers, "_HELLO_TIMEOUT_S", 0.2)
        with Server(SessionThread(everything())) as server, opened(server) as silent:
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as idle:
                assert idle.recv(100) == b""
            assert closed_with(silent) == servers.CLOSED_REFUSED

    def test_the_last_one_has_it(self, server):
        """Each page takes over from the one before, which is told why."""
        with opened(server) as first, opened(server) as second:
            hello(first, token=token_of(server))
            assert json.loads(first.recv(timeout=PATIENCE))["kind"] == "welcome"
            hello(second, token=token_of(server))
            assert closed_with(first) == servers.CLOSED_ELSEWHERE
            assert json.loads(second.recv(timeout=PATIENCE))["kind"] == "welcome"
            assert server.is_connected
            assert works(server)
            assert closed_with(second) == servers.CLOSED_ELSEWHERE

    def test_one_that_does_not_let_go_does_not_keep_the_next_ones_out(self, server):
        """A frozen tab answers no close; of two pages that come meanwhile the last one has the viewer."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as frozen:
            name = f"127.0.0.1:{server.port}"
            frozen.sendall(upgrade(f"http://{name}").replace(b"HOST", name.encode()))
            assert b"101" in frozen.recv(20)
            data = json.dumps({"do": "hello", "token": token_of(server)}).encode()
            frozen.sendall(bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data)
            eventually(lambda: server.is_connected)
            with opened(server) as second:
                hello(second, token=token_of(server))
                eventually(lambda: server.access.is_token_used)
                with page_at(server.url) as third:
                    third.until(lambda page: page.shown is not None)
                    assert closed_with(second) == servers.CLOSED_ELSEWHERE
                    while frozen.recv(65536):  # until the server has given it up, for which the second one waits
                        pass
                    third.send("target", **CHAIN, position=HAND, serial=5)
                    third.until(lambda page: page.state is not None and page.state["undo"] == "move target")

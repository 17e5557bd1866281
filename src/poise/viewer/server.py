"""Web server of the viewer: static files and one WebSocket.

HTTP serves the files of `web/` by their exact names and nothing else; they contain no secrets. The socket serves one
page at a time: its first message must contain the one-time token of the address, or the page's key.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from http import HTTPStatus
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple, Self, cast
from weakref import WeakSet

from poise.errors import InputError, PoiseError, UnsupportedError
from poise.viewer.offline_page import hash_for_csp
from poise.viewer.protocol import read_message, read_optional_text
from poise.viewer.session.session_thread import SessionThread

# --- Access to the page: one-time tokens, Host headers, static files -------------------------------------------------


_HTTP_PORT = 80  # default port, omitted in addresses
_TOKEN_BYTES = 24  # bytes of a token
_REUSE_WINDOW_S = 60.0  # [s] after its first use in which a link opens again in the same browser
_MIN_BROWSER_NAME_LENGTH = 16  # characters of a browser's random name; shorter names could be guessed
_PORT_NUMBER = re.compile(r"[1-9]\d{0,4}", re.ASCII)
# a host, without the zone of an address, which is free text
_HOST_NAME = re.compile(r"[\w.-]+|\[[\da-fA-F:.]+\]", re.ASCII)


class _TokenUse(NamedTuple):
    """The last used token, its browser, and its time [s, monotonic clock]."""

    token: str
    browser: str
    time: float


class Access:
    """One-time token and page key of a viewer.

    A token admits one page; that page gets a key for coming back after a reload.

    For a minute the token is valid again in the same browser: a page may be reloaded before it has the key, and links
    are clicked twice. A browser is identified by a random name in its storage. Tokens of notebooks are valid in the
    first browser that uses them as long as the viewer runs: a saved cell is opened again and again.
    """

    def __init__(self) -> None:
        self._browser_by_notebook_token: dict[str, str] = {}  # "" before the first use
        self._token: str | None = None
        self._key: str | None = None
        self._last_use: _TokenUse | None = None

    @property
    def token(self) -> str:
        """The token of the current link. After its use a new one is made."""
        if self._token is None:
            self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        return self._token

    @property
    def is_token_used(self) -> bool:
        """Whether no unused token exists."""
        return self._token is None

    def make_notebook_token(self) -> str:
        """Make a token for a notebook cell. It stays valid in the first browser that uses it."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._browser_by_notebook_token[token] = ""
        return token

    def has_notebook_token(self, token: object) -> bool:
        """Return whether a token is one of a notebook, used or not."""
        return self._find_notebook_token(token) is not None

    def _find_notebook_token(self, token: object) -> str | None:
        return next((known for known in list(self._browser_by_notebook_token) if self._is_equal(token, known)), None)

    def admit(self, token: object, key: object, browser: object = None) -> str | None:
        """Return the key of an admitted page, else None.

        Parameters
        ----------
        token, key
            Token and key of the page. A valid token makes a new key, and the previous key becomes invalid.
        browser
            The name of the page's browser. Without one a token is valid once; tokens of notebooks need one.
        """
        has_browser_name = isinstance(browser, str) and len(browser) >= _MIN_BROWSER_NAME_LENGTH
        notebook_token = self._find_notebook_token(token)
        if notebook_token is not None and has_browser_name:
            known_browser = self._browser_by_notebook_token[notebook_token] or str(browser)
            if not self._is_equal(browser, known_browser):
                return self._key if self._is_equal(key, self._key) else None
            self._browser_by_notebook_token[notebook_token] = known_browser
        elif self._is_equal(token, self._token):
            self._last_use = _TokenUse(str(token), str(browser), time.monotonic()) if has_browser_name else None
            self._token = None
        elif not self._is_used_again(token, browser):
            return self._key if self._is_equal(key, self._key) else None
        self._key = secrets.token_urlsafe(_TOKEN_BYTES)
        return self._key

    def _is_used_again(self, token: object, browser: object) -> bool:
        """Return whether the same browser repeats the last token in time."""
        last_use = self._last_use
        if last_use is None or time.monotonic() - last_use.time > _REUSE_WINDOW_S:
            return False
        return self._is_equal(token, last_use.token) and self._is_equal(browser, last_use.browser)

    @staticmethod
    def _is_equal(value: object, secret: str | None) -> bool:
        if not isinstance(value, str) or secret is None:
            return False
        return secrets.compare_digest(value.encode(errors="replace"), secret.encode())


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_host_allowed(header: str | None, host: str, port: int) -> bool:
    """Return whether a Host header names this server.

    This prevents DNS rebinding: no foreign name can be bound to the server's address.

    On the loopback only its names are allowed, with any port: a tunnel may start at another port, and requests of a
    foreign page carry its own origin. Otherwise any address and this machine's own name are allowed, with this port.
    """
    address = header or ""
    # browsers omit the default port
    if (port == _HTTP_PORT or is_loopback(address)) and not address.endswith(f":{_HTTP_PORT}"):
        address += f":{_HTTP_PORT}"
    name, colon, header_port = address.rpartition(":")
    if not colon or not _PORT_NUMBER.fullmatch(header_port) or not _HOST_NAME.fullmatch(name):
        return False
    if is_loopback(name) and is_loopback(host):
        return True
    if is_loopback(host) or header_port != str(port):
        return False
    return name in ("localhost", host, socket.gethostname(), socket.getfqdn()) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# --- Static files of `web/`, read once and served by exact name ------------------------------------------------------
#
# No requested path is ever opened.


_MIME_BY_SUFFIX = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml", "png": "image/png",
}  # fmt: skip
_INLINE_IMPORT_MAP = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)


class StaticFile(NamedTuple):
    """Contents and MIME type of a static file."""

    contents: bytes
    mime: str


class StaticFiles:
    """Static files by request path."""

    @cached_property
    def _files(self) -> dict[str, StaticFile]:
        files: dict[str, StaticFile] = {}
        _collect_files(find_web_folder(), "", files)
        files["/"] = files["/index.html"]
        return files

    def get(self, path: str) -> StaticFile | None:
        """Return the file of a path, or None."""
        return self._files.get(path)


def find_web_folder() -> Traversable:
    """Return the folder of the page."""
    return resources.files("poise.viewer") / "web"


def _collect_files(folder: Traversable, path: str, files: dict[str, StaticFile]) -> None:
    for entry in folder.iterdir():
        file_path = f"{path}/{entry.name}"
        suffix = entry.name.rpartition(".")[2]
        if entry.is_dir():
            _collect_files(entry, file_path, files)
        elif suffix in _MIME_BY_SUFFIX:
            files[file_path] = StaticFile(entry.read_bytes(), _MIME_BY_SUFFIX[suffix])


def build_headers(page: StaticFile, host: str) -> dict[str, str]:
    """Build the response headers of a file for a page at `host`.

    The page may load its own files and connect to this server only.
    """
    return {
        "Content-Type": page.mime,
        "Content-Length": str(len(page.contents)),
        "Content-Security-Policy": build_policy(page, f"ws://{host}"),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
        "Connection": "close",
    }


def build_policy(page: StaticFile, socket_address: str) -> str:
    """Build the content security policy of a page. Of inline scripts only the import map may run, by its hash."""
    script_sources = " ".join(["'self'", *map(hash_for_csp, _INLINE_IMPORT_MAP.findall(page.contents))])
    return (
        f"default-src 'none'; script-src {script_sources}; style-src 'self'; img-src 'self' blob: data:; "
        f"connect-src 'self' blob: data: {socket_address}; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
    )


# --- Server ----------------------------------------------------------------------------------------------------------


try:
    from websockets.asyncio.server import Server as SocketServer
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.datastructures import Headers
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response
    from websockets.protocol import State
except ImportError as error:
    message = "the viewer needs the package websockets: pip install 'poise[view]'"
    raise UnsupportedError(message) from error

SOCKET_PATH = "/socket"
# : Close codes: another page has taken over; neither token nor key; the server ends; the page does not read its
# messages.
CLOSED_ELSEWHERE, CLOSED_REFUSED, CLOSED_ENDED, CLOSED_TOO_SLOW = 4001, 4003, 4004, 4008
_MAX_MESSAGE_BYTES = 64 * 1024  # [bytes] of a message from the page
_HELLO_TIMEOUT_S = 5.0  # [s] timeout of the first message
_SEND_TIMEOUT_S = 60.0  # [s] timeout for sending one message
_MAX_QUEUED_ACTIONS = 256  # waiting actions at which reading from the page pauses
_LINK_REQUEST_INTERVAL_S = 2.0  # [s] between two reported requests for a new link
_NOTEBOOK_QUERY = "notebook"  # first word of the query of an address in a notebook cell
_PAGE_LEFT_DELAY_S = 3.0  # [s] without a page until it counts as closed rather than reloading


class Server:
    """Server of a session for one page.

    `url` opens it in one browser; as a context manager it starts and closes both. `farewell` is sent to the page at the
    end.
    """

    def __init__(
        self, session: SessionThread, *, host: str = "127.0.0.1", port: int = 0, farewell: str = "The viewer has ended"
    ) -> None:
        self.session = session
        self.host = host
        self.port = port
        self.farewell = farewell
        self.access: Access = Access()
        self.is_connected: bool = False
        self._files = StaticFiles()
        self._page_left_callbacks: list[Callable[[], None]] = []
        self._link_request_callbacks: list[Callable[[], None]] = []
        self._link_request_time = -_LINK_REQUEST_INTERVAL_S
        self._page: ServerConnection | None = None
        self._connections: WeakSet[ServerConnection] = WeakSet()
        self._leave_task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop
        self._start_event: threading.Event = threading.Event()
        self._failure: Exception | None = None
        self._end_event: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="poise-server", daemon=True)

    def start(self) -> Self:
        """Start serving. Raise InputError for an unusable address."""
        self._thread.start()
        self._start_event.wait()
        if self._failure is not None:
            reason = getattr(self._failure, "strerror", None) or str(self._failure)
            raise InputError(f"cannot serve on {self.host}:{self.port}: {reason}; choose another --port or --host")
        self.session.start()
        return self

    def close(self) -> None:
        """Stop serving and notify the page."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._stop)
            self._thread.join(5)
        self.session.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the viewer for one browser.

        After its use there is a new one.
        """
        return f"{self._origin}/?token={self.access.token}"

    @property
    def _origin(self) -> str:
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  (compared)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def make_notebook_url(self) -> str:
        """Make an address for a notebook cell. It stays valid in the first browser that uses it."""
        return f"{self._origin}/?{_NOTEBOOK_QUERY}&token={self.access.make_notebook_token()}"

    def on_page_left(self, callback: Callable[[], None]) -> None:
        """Register a callback for the final leave of the page. It runs on the server's thread."""
        self._page_left_callbacks.append(callback)

    def on_link_request(self, callback: Callable[[], None]) -> None:
        """Register a callback for requests of a new link.

        A page with a used link sends them; the callback runs on the server's thread. The page itself gets no link.
        """
        self._link_request_callbacks.append(callback)

    # --- the server's thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._start_event.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._end_event = asyncio.Event()
        try:
            socket_server = await serve(
                self._handle_connection, self.host, self.port, process_request=self._respond,
                max_size=_MAX_MESSAGE_BYTES, compression=None,
                server_header=None, open_timeout=_HELLO_TIMEOUT_S, close_timeout=1, max_queue=64,
                create_connection=cast("Any", self._build_connection),
            )  # fmt: skip
        except (OSError, ValueError, OverflowError) as error:  # address in use; invalid host name; invalid port
            self._failure = error
            return
        self.port = _find_port(socket_server)
        self._start_event.set()
        await self._end_event.wait()
        await self._close_connections(socket_server)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        _abort_connections(self._connections)  # a late connection whose task ended before it began
        await asyncio.sleep(0)

    def _build_connection(self, *args: Any, **options: Any) -> ServerConnection:
        connection = ServerConnection(*args, **options)
        self._connections.add(connection)
        return connection

    def _stop(self) -> None:
        if self._end_event is not None:
            self._end_event.set()

    async def _close_connections(self, socket_server: SocketServer) -> None:
        """Close every connection.

        Browsers open spare connections; idle ones are dropped at once.
        """
        if self._page is not None:
            await self._page.close(CLOSED_ENDED, self.farewell)
        socket_server.close()
        closing = asyncio.ensure_future(socket_server.wait_closed())
        while not closing.done():
            _abort_connections(connection for connection in self._connections if connection.state is State.CONNECTING)
            await asyncio.wait([closing], timeout=0.02)

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """Serve a file, or return None to accept the socket."""
        host = ",".join(request.headers.get_all("Host"))  # several headers never match this server
        if not is_host_allowed(host, self.host, self.port):
            return _build_text_response(
                HTTPStatus.FORBIDDEN,
                "the Host header does not name this server: forward its port and open it as localhost",
            )
        if getattr(request, "method", "GET") != "GET":  # older websockets accept GET only
            return _build_text_response(HTTPStatus.METHOD_NOT_ALLOWED, "")
        path, _, query = request.path.partition("?")
        if path == SOCKET_PATH:
            if request.headers.get_all("Origin") != [f"http://{host}"]:
                return _build_text_response(HTTPStatus.FORBIDDEN, "only the viewer's own page may connect")
            return None
        page = self._files.get(path)
        if page is None or not self._is_known_cell(query):
            return _build_text_response(HTTPStatus.NOT_FOUND, "no such file")
        return Response(HTTPStatus.OK, "OK", Headers(build_headers(page, host)), page.contents)

    def _is_known_cell(self, query: str) -> bool:
        """Return whether a query names no cell of another viewer.

        The page of another viewer, at the same port before, is not found: its cell shows its picture.
        """
        token = query.removeprefix(f"{_NOTEBOOK_QUERY}&token=")
        return token == query or self.access.has_notebook_token(token)

    async def _handle_connection(self, connection: ServerConnection) -> None:
        key, scene = await self._admit_page(connection)
        if key is None:
            await connection.close(CLOSED_REFUSED, "this link was used already, or is invalid")
            return
        previous_page, self._page, self.is_connected = self._page, connection, True
        if self._leave_task is not None:
            self._leave_task.cancel()
        if previous_page is not None:
            await previous_page.close(CLOSED_ELSEWHERE, "opened elsewhere")
        if self._page is not connection:  # another page has taken over meanwhile
            return
        ready = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(ready.set)

        self.session.outbox.attach(wake)
        self.session.greet(key, scene)
        send_task = asyncio.create_task(self._send_messages(connection, ready))
        try:
            await self._receive_messages(connection)
        except ConnectionClosed:
            pass
        finally:
            send_task.cancel()
            self.session.outbox.detach(wake)
            if self._page is connection:
                self._page, self.is_connected = None, False
                self._leave_task = self._loop.create_task(self._report_page_left())

    async def _admit_page(self, connection: ServerConnection) -> tuple[str | None, str | None]:
        """Read the first message and return page key and scene."""
        try:
            hello = read_message(await asyncio.wait_for(connection.recv(), _HELLO_TIMEOUT_S))
            scene = read_optional_text(hello, "scene")
        except (TimeoutError, ConnectionClosed, PoiseError):
            return None, None
        if hello["do"] == "ask":
            self._report_link_request()
        is_hello = hello["do"] == "hello"
        credentials = (hello.get("token"), hello.get("key"), hello.get("browser"))
        return (self.access.admit(*credentials) if is_hello else None), scene

    async def _receive_messages(self, connection: ServerConnection) -> None:
        async for message in connection:
            while len(self.session.inbox) >= _MAX_QUEUED_ACTIONS:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # the session is a thread without events of this loop
            if isinstance(message, bytes):
                self.session.post_data(message)
                continue
            try:
                action = read_message(message)
            except InputError as error:
                self.session.show_message("error", str(error))
                continue
            if action["do"] == "seen":
                frame_number: Any = action.get("frame")
                self.session.acknowledge_frame(frame_number if type(frame_number) is int else 0)
                continue
            self.session.post_action(action)

    async def _send_messages(self, connection: ServerConnection, ready: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionClosed):
            while not self.session.outbox.has_overflowed:
                await ready.wait()
                ready.clear()
                for part in self.session.outbox.take():
                    try:
                        await asyncio.wait_for(connection.send(part), _SEND_TIMEOUT_S)
                    except TimeoutError:
                        connection.transport.abort()
                        return
            await connection.close(CLOSED_TOO_SLOW, "the page does not read its messages")

    def _report_link_request(self) -> None:
        """Report a request for a new link, at a limited rate. It is printed in the program's terminal."""
        current_time = time.monotonic()
        if current_time - self._link_request_time < _LINK_REQUEST_INTERVAL_S:
            return
        self._link_request_time = current_time
        for callback in self._link_request_callbacks:
            callback()

    async def _report_page_left(self) -> None:
        await asyncio.sleep(_PAGE_LEFT_DELAY_S)
        for callback in self._page_left_callbacks:
            callback()


def _find_port(socket_server: SocketServer) -> int:
    return next(iter(socket_server.sockets)).getsockname()[1]


def _abort_connections(connections: Iterable[ServerConnection]) -> None:
    """Drop all connections with an open socket, including unsent data."""
    for connection in list(connections):
        if hasattr(connection, "transport"):
            connection.transport.abort()


def _build_text_response(status: HTTPStatus, sentence: str) -> Response:
    body = f"{sentence}\n".encode()
    headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, status.phrase, Headers(headers), body)

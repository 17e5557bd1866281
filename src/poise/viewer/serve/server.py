"""Web server of the viewer: static files and one WebSocket.

HTTP serves the files of `web/` by their exact names and nothing else; they contain no secrets. The socket serves one
page at a time: its first message must contain the one-time token of the address, or the page's key.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, Self, cast
from weakref import WeakSet

from poise.errors import InputError, PoiseError, UnsupportedError
from poise.viewer.protocol import read_message, text_or_none
from poise.viewer.serve.access import Access, host_allowed
from poise.viewer.serve.pages import Pages, headers
from poise.viewer.session.studio import Studio

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

SOCKET = "/socket"
# : Close codes: another page has taken over; neither token nor key; the server ends; the page does not read its
# messages.
ELSEWHERE, REFUSED, ENDED, TOO_SLOW = 4001, 4003, 4004, 4008
_LARGEST = 64 * 1024  # [bytes] of a message from the page
_PATIENCE = 5.0  # [s] timeout of the first message
_STUCK = 60.0  # [s] timeout for sending one message
_FULL = 256  # waiting actions at which reading from the page pauses
_ASKED = 2.0  # [s] between two reported requests for a new link
_GONE = 3.0  # [s] without a page until it counts as closed rather than reloading


class Server:
    """Server of a session for one page.

    `url` opens it in one browser; as a context manager it starts and closes both. `farewell` is sent to the page at the
    end.
    """

    def __init__(
        self, studio: Studio, *, host: str = "127.0.0.1", port: int = 0, farewell: str = "The viewer has ended"
    ) -> None:
        self.studio, self.host, self.port, self.farewell = studio, host, port, farewell
        self.access = Access()
        self.connected = False
        self._pages = Pages()
        self._gone: list[Callable[[], None]] = []
        self._asked: list[Callable[[], None]] = []
        self._asked_at = -_ASKED
        self._page: ServerConnection | None = None
        self._connections: WeakSet[ServerConnection] = WeakSet()
        self._leaving: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop
        self._started: threading.Event = threading.Event()
        self._failure: Exception | None = None
        self._ended: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="poise-server", daemon=True)

    def start(self) -> Self:
        """Start serving. Raise InputError for an unusable address."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            reason = getattr(self._failure, "strerror", None) or str(self._failure)
            raise InputError(f"cannot serve on {self.host}:{self.port}: {reason}; choose another --port or --host")
        self.studio.start()
        return self

    def close(self) -> None:
        """Stop serving and notify the page."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                self._loop.call_soon_threadsafe(self._stop)
            self._thread.join(5)
        self.studio.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the viewer for one browser.

        After its use there is a new one.
        """
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  (compared)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/?token={self.access.token}"

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Register a callback for the final leave of the page. It runs on the server's thread."""
        self._gone.append(callback)

    def on_asked(self, callback: Callable[[], None]) -> None:
        """Register a callback for requests of a new link.

        A page with a used link sends them; the callback runs on the server's thread. The page itself gets no link.
        """
        self._asked.append(callback)

    # --- the server's thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._started.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        try:
            serving = await serve(
                self._talk, self.host, self.port, process_request=self._answer, max_size=_LARGEST, compression=None,
                server_header=None, open_timeout=_PATIENCE, close_timeout=1, max_queue=64,
                create_connection=cast("Any", self._connection),
            )  # fmt: skip
        except (OSError, ValueError, OverflowError) as error:  # address in use; invalid host name; invalid port
            self._failure = error
            return
        self.port = _port(serving)
        self._started.set()
        await self._ended.wait()
        await self._end(serving)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        _abort(self._connections)  # a late connection whose task ended before it began
        await asyncio.sleep(0)

    def _connection(self, *args: Any, **options: Any) -> ServerConnection:
        connection = ServerConnection(*args, **options)
        self._connections.add(connection)
        return connection

    def _stop(self) -> None:
        if self._ended is not None:
            self._ended.set()

    async def _end(self, serving: SocketServer) -> None:
        """Close every connection.

        Browsers open spare connections; idle ones are dropped at once.
        """
        if self._page is not None:
            await self._page.close(ENDED, self.farewell)
        serving.close()
        closed = asyncio.ensure_future(serving.wait_closed())
        while not closed.done():
            _abort(each for each in self._connections if each.state is State.CONNECTING)
            await asyncio.wait([closed], timeout=0.02)

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Serve a file, or return None to accept the socket."""
        host = ",".join(request.headers.get_all("Host"))  # several headers never match this server
        if not host_allowed(host, self.host, self.port):
            return _plain(
                HTTPStatus.FORBIDDEN,
                "the Host header does not name this server: forward its port and open it as localhost",
            )
        if getattr(request, "method", "GET") != "GET":  # older websockets accept GET only
            return _plain(HTTPStatus.METHOD_NOT_ALLOWED, "")
        path = request.path.partition("?")[0]
        if path == SOCKET:
            if request.headers.get_all("Origin") != [f"http://{host}"]:
                return _plain(HTTPStatus.FORBIDDEN, "only the viewer's own page may connect")
            return None
        page = self._pages.get(path)
        if page is None:
            return _plain(HTTPStatus.NOT_FOUND, "no such file")
        return Response(HTTPStatus.OK, "OK", Headers(headers(page, host)), page.contents)

    async def _talk(self, connection: ServerConnection) -> None:
        key, scene = await self._admitted(connection)
        if key is None:
            await connection.close(REFUSED, "this link was used already, or is invalid")
            return
        old, self._page, self.connected = self._page, connection, True
        if self._leaving is not None:
            self._leaving.cancel()
        if old is not None:
            await old.close(ELSEWHERE, "opened elsewhere")
        if self._page is not connection:  # another page has taken over meanwhile
            return
        ready = asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(ready.set)

        self.studio.outbox.attach(wake)
        self.studio.greet(key, scene)
        sending = asyncio.create_task(self._send(connection, ready))
        try:
            await self._receive(connection)
        except ConnectionClosed:
            pass
        finally:
            sending.cancel()
            self.studio.outbox.detach(wake)
            if self._page is connection:
                self._page, self.connected = None, False
                self._leaving = self._loop.create_task(self._tell_gone())

    async def _admitted(self, connection: ServerConnection) -> tuple[str | None, str | None]:
        """Read the first message and return page key and scene."""
        try:
            hello = read_message(await asyncio.wait_for(connection.recv(), _PATIENCE))
            scene = text_or_none(hello, "scene")
        except (TimeoutError, ConnectionClosed, PoiseError):
            return None, None
        if hello["do"] == "ask":
            self._tell_asked()
        admitted = hello["do"] == "hello"
        shown = (hello.get("token"), hello.get("key"), hello.get("browser"))
        return (self.access.admit(*shown) if admitted else None), scene

    async def _receive(self, connection: ServerConnection) -> None:
        async for message in connection:
            while len(self.studio.inbox) >= _FULL:  # noqa: ASYNC110
                await asyncio.sleep(0.01)  # the session is a thread without events of this loop
            if isinstance(message, bytes):
                self.studio.receive(message)
                continue
            try:
                action = read_message(message)
            except InputError as error:
                self.studio.say("error", str(error))
                continue
            if action["do"] == "seen":
                number: Any = action.get("frame")
                self.studio.seen(number if type(number) is int else 0)
                continue
            self.studio.post(action)

    async def _send(self, connection: ServerConnection, ready: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionClosed):
            while not self.studio.outbox.overflown:
                await ready.wait()
                ready.clear()
                for part in self.studio.outbox.take():
                    try:
                        await asyncio.wait_for(connection.send(part), _STUCK)
                    except TimeoutError:
                        connection.transport.abort()
                        return
            await connection.close(TOO_SLOW, "the page does not read its messages")

    def _tell_asked(self) -> None:
        """Report a request for a new link, at a limited rate. It is printed in the program's terminal."""
        now = time.monotonic()
        if now - self._asked_at < _ASKED:
            return
        self._asked_at = now
        for callback in self._asked:
            callback()

    async def _tell_gone(self) -> None:
        await asyncio.sleep(_GONE)
        for callback in self._gone:
            callback()


def _port(serving: SocketServer) -> int:
    return next(iter(serving.sockets)).getsockname()[1]


def _abort(connections: Iterable[ServerConnection]) -> None:
    """Drop all connections with an open socket, including unsent data."""
    for connection in list(connections):
        if hasattr(connection, "transport"):
            connection.transport.abort()


def _plain(status: HTTPStatus, sentence: str) -> Response:
    body = f"{sentence}\n".encode()
    fields = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    return Response(status, status.phrase, Headers(fields), body)

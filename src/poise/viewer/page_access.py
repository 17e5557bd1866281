"""Access to the page: one-time tokens, Host headers, static files."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
import time
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from poise.viewer.offline_page import hash_for_csp

_DEFAULT_PORT = 80  # default port, omitted in addresses
_TOKEN_BYTES = 24  # bytes of a token
_REUSE_WINDOW_S = 60.0  # [s] after its first use in which a link opens again in the same browser
_MIN_BROWSER_NAME_LENGTH = 16  # characters of a browser's random name; shorter names could be guessed
_PORT_NUMBER = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_HOST_NAME = re.compile(
    r"[\w.-]+|\[[\da-fA-F:.]+\]", re.ASCII
)  # a host, without the zone of an address, which is free text


class _TokenUse(NamedTuple):
    """The last used token, its browser, and its time [s, monotonic clock]."""

    token: str
    browser: str
    time: float


class Access:
    """One-time token and page key of a viewer.

    A token admits one page; that page gets a key for coming back after a reload.

    For a minute the token is valid again in the same browser: a page may be reloaded before it has the key, and links
    are clicked twice. A browser is identified by a random name in its storage.
    """

    def __init__(self) -> None:
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
    def used(self) -> bool:
        """Whether no unused token exists."""
        return self._token is None

    def admit(self, token: object, key: object, browser: object = None) -> str | None:
        """Return the key of an admitted page, else None.

        Parameters
        ----------
        token, key
            Token and key of the page. A valid token makes a new key, and the previous key becomes invalid.
        browser
            The name of the page's browser; without one the token is valid once.
        """
        if self._is_equal(token, self._token):
            named = isinstance(browser, str) and len(browser) >= _MIN_BROWSER_NAME_LENGTH
            self._last_use = _TokenUse(str(token), str(browser), time.monotonic()) if named else None
            self._token = None
        elif not self._is_used_again(token, browser):
            return self._key if self._is_equal(key, self._key) else None
        self._key = secrets.token_urlsafe(_TOKEN_BYTES)
        return self._key

    def _is_used_again(self, token: object, browser: object) -> bool:
        """Return whether the same browser repeats the last token in time."""
        use = self._last_use
        if use is None or time.monotonic() - use.time > _REUSE_WINDOW_S:
            return False
        return self._is_equal(token, use.token) and self._is_equal(browser, use.browser)

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
    if (port == _DEFAULT_PORT or is_loopback(address)) and not address.endswith(
        f":{_DEFAULT_PORT}"
    ):  # browsers omit the default port
        address += f":{_DEFAULT_PORT}"
    name, separator, header_port = address.rpartition(":")
    if not separator or not _PORT_NUMBER.fullmatch(header_port) or not _HOST_NAME.fullmatch(name):
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
        name = f"{path}/{entry.name}"
        suffix = entry.name.rpartition(".")[2]
        if entry.is_dir():
            _collect_files(entry, name, files)
        elif suffix in _MIME_BY_SUFFIX:
            files[name] = StaticFile(entry.read_bytes(), _MIME_BY_SUFFIX[suffix])


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


def build_policy(page: StaticFile, socket: str) -> str:
    """Build the content security policy of a page. Of inline scripts only the import map may run, by its hash."""
    scripts = " ".join(["'self'", *map(hash_for_csp, _INLINE_IMPORT_MAP.findall(page.contents))])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self'; img-src 'self' blob: data:; "
        f"connect-src 'self' blob: data: {socket}; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
    )

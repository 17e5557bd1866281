"""Access control of the viewer: one-time tokens, page keys, Host headers."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
import time
from typing import NamedTuple

_HTTP = 80  # the port that addresses leave out
_LENGTH = 24  # bytes of a token
_AGAIN = 60.0  # [s] after its first use in which a link opens once more, in the browser that used it
_SHORTEST = 16  # letters of a name that a browser gives itself: shorter ones can be guessed
_PORT = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_NAME = re.compile(r"[\w.-]+|\[[\da-fA-F:.]+\]", re.ASCII)  # a host; no zone of an address: that is free text


class _Use(NamedTuple):
    """The last used token, its browser, and its time [s, monotonic clock]."""

    token: str
    browser: str
    time: float


class Access:
    """One-time token and page key of a viewer.

    A token admits one page; that page gets a key for coming back after a reload.

    For a minute the token is good again in the same browser: a page may be reloaded before the key has come, and a link
    is clicked twice. A browser is known by a random name that its pages keep in its storage.
    """

    def __init__(self) -> None:
        self._token: str | None = None
        self._key: str | None = None
        self._use: _Use | None = None

    @property
    def token(self) -> str:
        """The token of the current link. After its use a new one is made."""
        if self._token is None:
            self._token = secrets.token_urlsafe(_LENGTH)
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
            The two that the page shows. A token that opens the viewer makes a new key; the key before is good no more.
        browser
            The name of the page's browser; without one the token is good once.
        """
        if self._is(token, self._token):
            named = isinstance(browser, str) and len(browser) >= _SHORTEST
            self._use = _Use(str(token), str(browser), time.monotonic()) if named else None
            self._token = None
        elif not self._is_used_again(token, browser):
            return self._key if self._is(key, self._key) else None
        self._key = secrets.token_urlsafe(_LENGTH)
        return self._key

    def _is_used_again(self, token: object, browser: object) -> bool:
        """Return whether the same browser repeats the last token in time."""
        use = self._use
        if use is None or time.monotonic() - use.time > _AGAIN:
            return False
        return self._is(token, use.token) and self._is(browser, use.browser)

    @staticmethod
    def _is(given: object, wanted: str | None) -> bool:
        if not isinstance(given, str) or wanted is None:
            return False
        return secrets.compare_digest(given.encode(errors="replace"), wanted.encode())


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_allowed(header: str | None, host: str, port: int) -> bool:
    """Return whether a Host header names this server.

    This prevents DNS rebinding: no foreign name can be bound to the server's address.

    Bound to the loopback only its names do, with any port: a tunnel may begin at another one, and what a foreign page
    sends bears its own origin. Else any address does, and this machine's own name, with this port.
    """
    whole = header or ""
    if (port == _HTTP or is_loopback(whole)) and not whole.endswith(f":{_HTTP}"):  # browsers leave it out
        whole += f":{_HTTP}"
    name, separator, given = whole.rpartition(":")
    if not separator or not _PORT.fullmatch(given) or not _NAME.fullmatch(name):
        return False
    if is_loopback(name) and is_loopback(host):
        return True
    if is_loopback(host) or given != str(port):
        return False
    return name in ("localhost", host, socket.gethostname(), socket.getfqdn()) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True

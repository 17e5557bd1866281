"""Access to the page: one-time tokens, Host headers, static files."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
import time
from typing import NamedTuple

_HTTP = 80  # default port, omitted in addresses
_LENGTH = 24  # bytes of a token
_AGAIN = 60.0  # [s] after its first use in which a link opens again in the same browser
_SHORTEST = 16  # characters of a browser's random name; shorter names could be guessed
_PORT = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_NAME = re.compile(r"[\w.-]+|\[[\da-fA-F:.]+\]", re.ASCII)  # a host, without the zone of an address, which is free text


class _Use(NamedTuple):
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
            Token and key of the page. A valid token makes a new key, and the previous key becomes invalid.
        browser
            The name of the page's browser; without one the token is valid once.
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

    On the loopback only its names are allowed, with any port: a tunnel may start at another port, and requests of a
    foreign page carry its own origin. Otherwise any address and this machine's own name are allowed, with this port.
    """
    whole = header or ""
    if (port == _HTTP or is_loopback(whole)) and not whole.endswith(f":{_HTTP}"):  # browsers omit the default port
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

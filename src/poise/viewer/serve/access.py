"""Who may talk to the viewer: one-time tokens, the key of the page that used one, and where pages may come from."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket

_HTTP = 80  # the port that addresses leave out
_LENGTH = 24  # bytes of a token
_PORT = re.compile(r"[1-9]\d{0,4}", re.ASCII)
_NAME = re.compile(r"[\w.-]+|\[[\da-fA-F:.]+\]", re.ASCII)  # a host; no zone of an address: that is free text


class Access:
    """One token, good for one page; that page gets a key with which it may come back after a reload."""

    def __init__(self) -> None:
        self._token: str | None = None
        self._key: str | None = None

    @property
    def token(self) -> str:
        """The token that opens the viewer; a new one where the last was used."""
        if self._token is None:
            self._token = secrets.token_urlsafe(_LENGTH)
        return self._token

    @property
    def used(self) -> bool:
        """Whether no token waits to be used."""
        return self._token is None

    def admit(self, token: object, key: object) -> str | None:
        """The key of a page that shows the token or a key; None for one that shows neither."""
        if self._is(token, self._token):
            self._token, self._key = None, secrets.token_urlsafe(_LENGTH)
            return self._key
        return self._key if self._is(key, self._key) else None

    @staticmethod
    def _is(given: object, wanted: str | None) -> bool:
        if not isinstance(given, str) or wanted is None:
            return False
        return secrets.compare_digest(given.encode(errors="replace"), wanted.encode())


def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_allowed(header: str | None, host: str, port: int) -> bool:
    """Whether a Host header names this server, so that no foreign name can be bound to its address (DNS rebinding).

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

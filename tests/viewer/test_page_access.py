"""Tokens are good once, keys come back, and foreign names for this machine are refused."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poise.viewer import server as access_module
from poise.viewer.server import Access, is_host_allowed, is_loopback
from tests.viewer.watcher import MALFORMED


class TestTokens:
    def test_a_token_is_good_once(self):
        access = Access()
        token = access.token
        assert access.token == token  # asking does not use it up
        assert not access.is_token_used
        key = access.admit(token, None)
        assert key is not None
        assert access.is_token_used
        assert access.admit(token, None) is None
        assert access.token != token

    def test_a_key_is_good_again_and_again_but_is_no_token(self):
        access = Access()
        key = access.admit(access.token, None)
        assert [access.admit(None, key) for _ in range(3)] == [key] * 3
        assert access.admit(key, None) is None

    def test_a_new_page_ends_the_key_of_the_one_before(self):
        access = Access()
        first = access.admit(access.token, None)
        second = access.admit(access.token, None)
        assert second not in (None, first)
        assert access.admit(None, first) is None
        assert access.admit(None, second) == second

    def test_a_wrong_token_does_not_use_up_the_good_one(self):
        access = Access()
        token = access.token
        for wrong in ("", token[:-1], token + "A", token.lower() + "x", token.encode(), [token], None, 0):
            assert access.admit(wrong, wrong) is None
        assert access.admit(token, None) is not None

    def test_before_a_token_was_requested_nothing_is_good(self):
        for nothing in (None, "", "None", 0, False):
            assert Access().admit(nothing, nothing) is None

    @given(MALFORMED, MALFORMED)
    def test_noise_is_refused(self, token, key):
        access = Access()
        access.admit(access.token, None)
        assert access.token
        assert access.admit(token, key) is None

    def test_tokens_cannot_be_guessed(self):
        tokens = {Access().token for _ in range(100)}
        assert len(tokens) == 100
        assert min(map(len, tokens)) >= 32  # 24 bytes


class TestSecondVisits:
    """The same link, from the browser that used it."""

    BROWSER = "0123456789abcdef"

    @pytest.fixture
    def clock(self, monkeypatch):
        """`clock[0]`: what the monotonic clock of the module says."""
        now = [100.0]
        monkeypatch.setattr(access_module.time, "monotonic", lambda: now[0])
        return now

    def test_it_opens_again_within_a_minute(self, clock):
        access = Access()
        token = access.token
        first = access.admit(token, None, self.BROWSER)
        clock[0] += 59.0
        second = access.admit(token, None, self.BROWSER)
        assert second not in (None, first)
        assert access.admit(None, first) is None
        assert access.admit(None, second) == second
        clock[0] += 2.0  # a minute after the first visit, not after the last
        assert access.admit(token, None, self.BROWSER) is None
        assert access.admit(None, second) == second

    @pytest.mark.parametrize("other", ["0123456789abcdeX", "", None, 7])
    def test_another_browser_is_refused(self, clock, other):
        access = Access()
        token = access.token
        assert access.admit(token, None, self.BROWSER)
        assert access.admit(token, None, other) is None

    @pytest.mark.parametrize("guessed", ["", "0123456789abcde", None, ["0123456789abcdef"]])
    def test_a_browser_without_a_good_name_comes_once(self, clock, guessed):
        access = Access()
        token = access.token
        assert access.admit(token, None, guessed)
        assert access.admit(token, None, guessed) is None

    def test_a_new_link_does_not_end_the_minute_of_the_last_but_its_use_does(self, clock):
        access = Access()
        token = access.token
        access.admit(token, None, self.BROWSER)
        fresh = access.token
        assert access.admit(token, None, self.BROWSER)
        assert access.token == fresh
        assert access.admit(fresh, None, self.BROWSER)
        assert access.admit(token, None, self.BROWSER) is None


class TestHosts:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "::1", "[::1]"])
    def test_loopback(self, host):
        assert is_loopback(host)

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", "", "localhost.evil.org"])  # noqa: S104
    def test_not_loopback(self, host):
        assert not is_loopback(host)

    @pytest.mark.parametrize("header", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "127.0.0.2:8080"])
    def test_this_machine(self, header):
        assert is_host_allowed(header, "127.0.0.1", 8080)

    @pytest.mark.parametrize("header", ["localhost:9999", "127.0.0.1:8081", "[::1]:1", "localhost", "127.0.0.1"])
    def test_a_tunnel_begins_at_another_port(self, header):
        assert is_host_allowed(header, "127.0.0.1", 8080)
        assert is_host_allowed(header, "localhost", 8080)
        assert not is_host_allowed(header, "0.0.0.0", 8080)  # noqa: S104

    @pytest.mark.parametrize(
        "header",
        [
            None, "", ":8080", "127.0.0.1:0", "127.0.0.1:808080", "localhost:",
            "evil.org:8080", "evil.org", "127.0.0.1.evil.org:8080",
            "localhost.evil.org:8080", "192.168.1.2:8080", "0.0.0.0:8080", "localhost:08080", "localhost:8080 ",
            "localhost:8080:8080", "user@localhost:8080", "127.1:8080", "2130706433:8080", "[::1%x]:8080",
            "[[::1]]:8080", "[::1%; script-src *]:8080",
            "localhost:8080,localhost:8080", "127.0.0.1;:8080", "\u0661\u0662\u0667.0.0.1:8080", "localhost\x00:8080",
        ],
    )  # fmt: skip
    def test_foreign_names(self, header):
        assert not is_host_allowed(header, "127.0.0.1", 8080)

    @given(st.text(max_size=30))
    def test_no_text_gets_into_the_headers_of_an_answer(self, name):
        header = f"{name}:8080"
        if is_host_allowed(header, "127.0.0.1", 8080) or is_host_allowed(header, "0.0.0.0", 8080):  # noqa: S104
            assert not set(header) & set(" ;,'\"\r\n\t*%")

    def test_browsers_leave_out_the_port_of_http(self):
        assert is_host_allowed("127.0.0.1", "127.0.0.1", 80)
        assert is_host_allowed("[::1]", "127.0.0.1", 80)
        assert is_host_allowed("localhost:80", "127.0.0.1", 80)
        for header in ("evil.org", "localhost:x", "", None, "::1", "127.0.0.1:"):
            assert not is_host_allowed(header, "127.0.0.1", 80)

    def test_open_to_the_network_any_address_is_a_name_of_this_machine(self):
        for header in (
            "192.168.1.2:8080",
            "127.0.0.1:8080",
            "localhost:8080",
            f"{socket.gethostname()}:8080",
            "[fe80::1]:8080",
        ):
            assert is_host_allowed(header, "0.0.0.0", 8080), header  # noqa: S104
        for header in ("evil.org:8080", "192.168.1.2:8081", "192.168.1.2.evil.org:8080", "[fe80::1%eth0]:8080"):
            assert not is_host_allowed(header, "0.0.0.0", 8080), header  # noqa: S104

    def test_a_name_that_was_given_is_a_name(self):
        assert is_host_allowed("studio.local:8080", "studio.local", 8080)
        assert not is_host_allowed("other.local:8080", "studio.local", 8080)

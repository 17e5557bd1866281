"""What every reader owes for a file that cannot be read: one short sentence that begins with the file's path."""

from __future__ import annotations

import pytest

import poise
from tests.timeouts import no_hang


def refused(read, path):
    """The sentence with which `read` refuses a file."""
    with no_hang(), pytest.raises(poise.FileError) as refusal:
        read(path)
    message = str(refusal.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < 500
    return message

"""Mutations of real files: whatever comes in, a reader answers with a rig or a FileError and never hangs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from poise.errors import FileError
from tests.timeouts import no_hang

Make = Callable[[Random], Any]  # an example from what chance says; the same again for the same seed

SECONDS = float(os.environ.get("POISE_FUZZ_SECONDS", "5"))
ENOUGH = int(500 * SECONDS)  # examples; what is read in less than a millisecond takes less time
TRICKS = (
    b"nan", b"inf", b"-1", b"1e999", b"1e-999", b"999999999999", b"-0", b"{", b"}", b"<", b">", b'"', b"'", b"&", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b" ", b"\t", b"0x10", b"1_0", b"]]>", b"<!--", b"<![CDATA[", b"<!DOCTYPE>",
    b"JOINT", b"ROOT a", b"End Site", b"OFFSET", b"CHANNELS 3", b"Xrotation", b"MOTION", b"Frames:", b"Frame Time:",
    b"<link name='a'/>", b"<joint name='a'>", b"<mimic joint='a'/>", b"lower", b"\xc2\xa0", b"\x1c", b"\x85",
)  # fmt: skip
ODD_NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1 / 3, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-5, -1e-16, 2.0**-52)


def mutated(seeds: list[bytes]) -> Make:
    """One of the seeds after a few cuts, copies, swaps and tricks."""

    def make(chance: Random) -> bytes:
        data = chance.choice(seeds)
        for _ in range(chance.randint(1, 6)):
            a = _place(chance, data)
            b = min(len(data), a + chance.randint(0, 80))
            which = chance.randrange(5)
            if which == 0:
                piece = b""
            elif which == 1:
                piece = chance.choice(TRICKS)
            elif which == 2:
                piece = chance.randbytes(chance.randint(0, 6))
            else:
                piece = data[a:b] * 2 if which == 3 else data[b : b + 40]
            data = data[:a] + piece + data[b:]
        return data[: _place(chance, data)] if chance.random() < 0.1 else data

    return make


def _place(chance: Random, data: bytes) -> int:
    """A place in the data: anywhere, and at either end more often than by chance."""
    return chance.choice([0, len(data)]) if chance.random() < 0.1 else chance.randint(0, len(data))


def one_of(*makes: Make) -> Make:
    """An example of one of these kinds."""
    return lambda chance: chance.choice(makes)(chance)


def number(chance: Random, low: float, high: float) -> float:
    """A number of any size in a range: an odd one now and then, else evenly by value or by its order of magnitude."""
    way = chance.randrange(4)
    if way == 0:
        return chance.choice([low, high, *(odd for odd in ODD_NUMBERS if low <= odd <= high)])
    if way == 1:
        small = chance.choice([-1.0, 1.0]) * 10.0 ** chance.uniform(-18, 3)
        return min(max(small, low), high)
    return chance.uniform(low, high)


def until_time_is_up(make: Make, body: Callable[[Any], object]) -> None:
    """Run `body` on examples, made with the seeds 0, 1, ..., for SECONDS of processor time or until there are ENOUGH.

    Hypothesis would take several times as long as the reader that is tried, and has nothing to make smaller here.
    """
    end = time.process_time() + SECONDS
    for seed in range(ENOUGH):
        example = make(Random(seed))
        try:
            body(example)
        except BaseException as error:
            error.add_note(f"made with seed {seed}: {repr(example)[:300]}")
            raise
        if time.process_time() > end:
            return


def check(reader, data: bytes, path) -> bool:
    """Read mutated bytes; return whether they were a rig after all."""
    path.write_bytes(data)
    message = ""
    try:
        with no_hang():
            rig = reader.read(path)
    except FileError as error:
        rig, message = None, str(error)
    if rig is None:
        assert message.startswith(str(path))
        assert len(message) < 20_000
        return False
    assert np.isfinite(rig.pose.q).all()
    assert len(set(rig.skeleton.names)) == len(rig.skeleton)
    for clip in rig.clips:
        assert np.isfinite(clip.poses.q).all()
        assert np.isfinite(clip.times).all()
    same = path.with_name("same" + path.suffix)
    reader.write(rig, same, rig.skeleton)
    assert same.read_bytes() == data
    return True


def outcomes(module, make, path):
    """Check one text after another until the time is up; return how many loaded and how many were refused."""
    counts = {True: 0, False: 0}

    def body(text):
        counts[check(module, text, path)] += 1

    until_time_is_up(make, body)
    return counts[True], counts[False]

"""Mutations of real files: whatever comes in, a reader answers with a rig or a FileError and never hangs."""

from __future__ import annotations

import itertools
import os
import time

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from poise.errors import FileError
from tests.patience import no_hang

SECONDS = float(os.environ.get("POISE_FUZZ_SECONDS", "5"))
TRICKS = (
    b"nan", b"inf", b"-1", b"1e999", b"1e-999", b"999999999999", b"-0", b"{", b"}", b"<", b">", b'"', b"'", b"&", b"\0",
    b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b" ", b"\t", b"0x10", b"1_0", b"]]>", b"<!--", b"<![CDATA[", b"<!DOCTYPE>",
    b"JOINT", b"ROOT a", b"End Site", b"OFFSET", b"CHANNELS 3", b"Xrotation", b"MOTION", b"Frames:", b"Frame Time:",
    b"<link name='a'/>", b"<joint name='a'>", b"<mimic joint='a'/>", b"lower", b"\xc2\xa0", b"\x1c", b"\x85",
)  # fmt: skip


@st.composite
def mutated(draw, seeds: list[bytes]) -> bytes:
    """One of the seeds after a few cuts, copies, swaps and tricks."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 6))):
        a = draw(st.integers(0, len(data)))
        b = min(len(data), a + draw(st.integers(0, 80)))
        piece = draw(
            st.one_of(
                st.just(b""),
                st.sampled_from(TRICKS),
                st.binary(max_size=6),
                st.just(data[a:b] * 2),
                st.just(data[b : b + 40]),
            )
        )
        data = data[:a] + piece + data[b:]
    if draw(st.integers(0, 9)) == 0:
        data = data[: draw(st.integers(0, len(data)))]
    return data


def until_time_is_up(strategy, body) -> None:
    """Run `body` on examples, in rounds with seeds 0, 1, ..., until SECONDS have passed."""
    end = time.monotonic() + SECONDS
    for number in itertools.count():
        rounds = settings(
            deadline=None,
            max_examples=50,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        seed(number)(rounds(given(strategy)(body)))()
        if time.monotonic() > end:
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


def outcomes(module, strategy, path):
    """Check one text after another until the time is up; return how many loaded and how many were refused."""
    counts = {True: 0, False: 0}

    def body(text):
        counts[check(module, text, path)] += 1

    until_time_is_up(strategy, body)
    return counts[True], counts[False]

"""Mutated BVH files."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from tests.io.fuzzing import SECONDS, budget, check, mutated
from poise.io import bvh
from poise.io._bvh_document import BvhDocument

number = st.one_of(
    st.floats(-200, 200).map(repr), st.sampled_from(["nan", "1e999", "1e300", ".5", "-.5e-016", "x", "1_0", "0", "- 1"])
)
channel = st.sampled_from(
    [f"{axis}{what}" for axis in "XYZ" for what in ("rotation", "position")] + ["zROTATION", "Wrotation", ""]
)


@st.composite
def structured(draw) -> bytes:
    """Text that nearly follows the grammar: nested joints, channels and rows whose counts may lie."""
    lines, depth, width = ["HIERARCHY"], 0, 0
    for k in range(draw(st.integers(1, 6))):
        word = "ROOT" if not depth else draw(st.sampled_from(["JOINT", "JOINT", "JOINT", "End", "ROOT"]))
        name = draw(st.sampled_from([f"j{k}", "j0", "a b", "", "é"]))
        channels = draw(st.lists(channel, max_size=6, unique=True))
        lie = draw(st.sampled_from([0] * 9 + [1, -1, 10**12]))
        width += len(channels)
        lines += [
            f"{word} {name}",
            "{",
            f"OFFSET {draw(number)} 1 2",
            f"CHANNELS {len(channels) + lie} {' '.join(channels)}",
        ]
        depth += 1
        for _ in range(draw(st.integers(0, depth))):
            lines.append("}")
            depth -= 1
    lines += ["}"] * (depth + draw(st.sampled_from([0, 0, 0, 0, 1, -1])))
    frames = draw(st.integers(0, 4))
    lines += ["MOTION", f"Frames: {draw(st.sampled_from([frames, frames, -1, 10**12]))}", f"Frame Time: {draw(number)}"]
    row = draw(st.lists(st.floats(-999, 999).map(repr), min_size=width, max_size=width))
    lines += [" ".join(row + draw(st.lists(number, max_size=1))) for _ in range(frames)]
    return draw(st.sampled_from(["\n", "\r\n", " ", "\t\n"])).join(lines).encode()


def seeds(data):
    whole = [path.read_bytes() for path in sorted((data / "bvh").glob("*.bvh")) if path.stat().st_size < 50_000]
    whole += [path.read_bytes() for path in sorted((data / "bad_inputs").glob("bvh_*.bvh"))]
    assert len(whole) > 5
    return [text for text in whole if text]


def test_mutated_and_structured_files(data, tmp_path):
    end = time.monotonic() + SECONDS
    counts = {True: 0, False: 0}

    @budget
    @given(st.one_of(structured(), mutated(seeds(data))))
    def run(text):
        if time.monotonic() < end:
            counts[check(bvh, text, tmp_path / "mutated.bvh")] += 1

    run()
    assert counts[True] > 10 * min(SECONDS, 5)  # enough of them are rigs, so that it is not only the first word
    assert counts[False] > 10 * min(SECONDS, 5)

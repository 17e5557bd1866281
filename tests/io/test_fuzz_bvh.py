"""Mutated BVH files."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from poise.io.formats import bvh
from tests.io.fuzzing import mutated, outcomes

pytestmark = pytest.mark.long

number = st.one_of(
    st.floats(-200, 200).map(repr), st.sampled_from(["nan", "1e999", "1e300", ".5", "-.5e-016", "x", "1_0", "0", "- 1"])
)
channels = [f"{axis}{what}" for axis in "XYZ" for what in ("rotation", "position")]
good = st.floats(0.001, 200).map(repr)


@st.composite
def structured(draw) -> bytes:
    """Text that nearly follows the grammar: nested joints, channels and rows whose counts may lie."""
    lines, depth, width = ["HIERARCHY"], 0, 0
    wild = draw(st.booleans())
    value = number if wild else good
    for k in range(draw(st.integers(1, 6))):
        word = "ROOT" if not depth else draw(st.sampled_from(["JOINT", "End", "ROOT"] if wild else ["JOINT"]))
        name = draw(st.sampled_from([f"j{k}", "j0", "a b", "", "é"]))
        given = draw(st.lists(st.sampled_from(channels + ["zROTATION", "W"] * wild), max_size=6, unique=True))
        lie = draw(st.sampled_from([0] * 9 + [1, -1, 10**12] * wild))
        width += len(given)
        lines += [
            f"{word} {name}",
            "{",
            f"OFFSET {draw(value)} 1 2",
            f"CHANNELS {len(given) + lie} {' '.join(given)}",
        ]
        depth += 1
        for _ in range(draw(st.integers(0, depth))):
            lines.append("}")
            depth -= 1
    lines += ["}"] * (depth + draw(st.sampled_from([0, 0, 0, 0] + [1, -1] * wild)))
    frames = draw(st.integers(0, 4))
    lines += [
        "MOTION",
        f"Frames: {draw(st.sampled_from([frames, frames, 10**12] + [-1] * wild))}",
        f"Frame Time: {draw(value)}",
    ]
    row = draw(st.lists(st.floats(-999, 999).map(repr), min_size=width, max_size=width))
    lines += [" ".join(row + draw(st.lists(number, max_size=int(wild)))) for _ in range(frames)]
    return draw(st.sampled_from(["\n", "\r\n", " ", "\t\n"])).join(lines).encode()


def seeds(data):
    whole = [path.read_bytes() for path in sorted((data / "bvh").glob("*.bvh")) if path.stat().st_size < 50_000]
    whole += [path.read_bytes() for path in sorted((data / "bad_inputs").glob("bvh_*.bvh"))]
    assert len(whole) > 5
    return [text for text in whole if text]


def test_mutated_and_structured_files(data, tmp_path):
    rigs, refused = outcomes(bvh, st.one_of(structured(), mutated(seeds(data))), tmp_path / "mutated.bvh")
    assert min(rigs, refused) > 0  # else one of the two was not tried

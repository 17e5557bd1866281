"""Mutated BVH files."""

from __future__ import annotations

import pytest

from poise.io.formats import bvh
from tests.io.fuzzing import mutated, number, one_of, outcomes

pytestmark = pytest.mark.long

ODD = ("nan", "1e999", "1e300", ".5", "-.5e-016", "x", "1_0", "0", "- 1")
CHANNELS = [f"{axis}{what}" for axis in "XYZ" for what in ("rotation", "position")]


def wild_number(chance):
    return chance.choice(ODD) if chance.random() < 0.5 else repr(number(chance, -200, 200))


def good_number(chance):
    return repr(number(chance, 0.001, 200))


def structured(chance):
    """Text that nearly follows the grammar: nested joints, channels and rows whose counts may lie."""
    lines, depth, width = ["HIERARCHY"], 0, 0
    wild = chance.random() < 0.5
    value = wild_number if wild else good_number
    known = [*CHANNELS, *["zROTATION", "W"] * wild]
    for k in range(chance.randint(1, 6)):
        word = "ROOT" if not depth else chance.choice(["JOINT", "End", "ROOT"] if wild else ["JOINT"])
        name = chance.choice([f"j{k}", "j0", "a b", "", "é"])
        given = chance.sample(known, chance.randint(0, 6))
        lie = chance.choice([0] * 9 + [1, -1, 10**12] * wild)
        width += len(given)
        lines += [
            f"{word} {name}",
            "{",
            f"OFFSET {value(chance)} 1 2",
            f"CHANNELS {len(given) + lie} {' '.join(given)}",
        ]
        closed = chance.randint(0, depth + 1)
        lines += ["}"] * closed
        depth += 1 - closed
    lines += ["}"] * (depth + chance.choice([0, 0, 0, 0] + [1, -1] * wild))
    frames = chance.randint(0, 4)
    lines += [
        "MOTION",
        f"Frames: {chance.choice([frames, frames, 10**12] + [-1] * wild)}",
        f"Frame Time: {value(chance)}",
    ]
    row = [repr(number(chance, -999, 999)) for _ in range(width)]
    lines += [" ".join(row + [wild_number(chance)] * chance.randint(0, int(wild))) for _ in range(frames)]
    return chance.choice(["\n", "\r\n", " ", "\t\n"]).join(lines).encode()


def seeds(data):
    whole = [path.read_bytes() for path in sorted((data / "bvh").glob("*.bvh")) if path.stat().st_size < 50_000]
    whole += [path.read_bytes() for path in sorted((data / "bad_inputs").glob("bvh_*.bvh"))]
    assert len(whole) > 5
    return [text for text in whole if text]


def test_mutated_and_structured_files(data, tmp_path):
    rigs, refused = outcomes(bvh, one_of(structured, mutated(seeds(data))), tmp_path / "mutated.bvh")
    assert min(rigs, refused) > 0  # else one of the two was not tried

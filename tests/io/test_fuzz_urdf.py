"""Mutated URDF files."""

from __future__ import annotations

import pytest

from poise.io.formats import urdf
from tests.io.fuzzing import mutated, number, one_of, outcomes

pytestmark = pytest.mark.long

ODD = ("nan", "inf", "-inf", "1e999", "1e300", ".5", "x", "1 2", "", "0")
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def good_number(chance):
    return repr(number(chance, -3, 3))


def wild_number(chance):
    return chance.choice(ODD) if chance.random() < 0.5 else good_number(chance)


def structured(chance):
    """Text that nearly follows the schema: links and joints whose references and numbers may be wrong."""
    n = chance.randint(0, 6)
    wild = chance.random() < 0.5
    value = wild_number if wild else good_number
    parts = [f'<link name="l{k}"/>' for k in range(n + 1)]
    for k in range(n):
        parent = f"l{chance.randint(0, n if wild else k)}"
        kind = chance.choice(KINDS)
        low, high = (f"-{chance.randint(0, 3)}", value(chance)) if wild else ("-1", "1")
        inside = [
            f'<origin xyz="{value(chance)} 0 1" rpy="0 {value(chance)} 0"/>',
            f'<axis xyz="{value(chance)} 1 0"/>',
            f'<limit lower="{low}" upper="{high}"/>',
            f'<mimic joint="j{chance.randint(0, n)}" multiplier="{value(chance)}"/>',
        ]
        chosen = [text for text in inside if chance.randrange(10) < (7 if "mimic" not in text else 1 + wild)]
        name = chance.choice([f"j{k}"] * 8 + ["j0", f"l{k}"]) if wild else f"j{k}"
        ends = f'<parent link="{parent}"/><child link="l{k + 1}"/>'
        parts.append(f'<joint name="{name}" type="{kind}">{ends}{"".join(chosen)}</joint>')
    return f'<?xml version="1.0"?><robot name="r">{"".join(parts)}</robot>'.encode()


def seeds(data):
    whole = [path.read_bytes() for path in sorted((data / "urdf").rglob("*.urdf")) if path.stat().st_size < 20_000]
    whole += [path.read_bytes() for path in sorted((data / "bad_inputs").glob("urdf_*.urdf"))]
    assert len(whole) > 5
    return whole


def test_mutated_and_structured_files(data, tmp_path):
    rigs, refused = outcomes(urdf, one_of(structured, mutated(seeds(data))), tmp_path / "mutated.urdf")
    assert min(rigs, refused) > 0  # else one of the two was not tried

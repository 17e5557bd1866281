"""Mutated URDF files."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from poise.io.formats import urdf
from tests.io.fuzzing import mutated, outcomes

pytestmark = pytest.mark.long

number = st.one_of(
    st.floats(-3, 3).map(repr), st.sampled_from(["nan", "inf", "-inf", "1e999", "1e300", ".5", "x", "1 2", "", "0"])
)
good = st.floats(-3, 3).map(repr)


@st.composite
def structured(draw) -> bytes:
    """Text that nearly follows the schema: links and joints whose references and numbers may be wrong."""
    n = draw(st.integers(0, 6))
    wild = draw(st.booleans())
    value = number if wild else good
    parts = [f'<link name="l{k}"/>' for k in range(n + 1)]
    for k in range(n):
        parent = f"l{draw(st.integers(0, n if wild else k))}"
        kind = draw(st.sampled_from(["revolute", "continuous", "prismatic", "fixed", "floating", "planar"]))
        low, high = (f"-{draw(st.integers(0, 3))}", f"{draw(value)}") if wild else ("-1", "1")
        inside = [
            f'<origin xyz="{draw(value)} 0 1" rpy="0 {draw(value)} 0"/>',
            f'<axis xyz="{draw(value)} 1 0"/>',
            f'<limit lower="{low}" upper="{high}"/>',
            f'<mimic joint="j{draw(st.integers(0, n))}" multiplier="{draw(value)}"/>',
        ]
        chosen = [text for text in inside if draw(st.integers(0, 9)) < (7 if "mimic" not in text else 1 + wild)]
        name = draw(st.sampled_from([f"j{k}"] * 8 + ["j0", f"l{k}"])) if wild else f"j{k}"
        ends = f'<parent link="{parent}"/><child link="l{k + 1}"/>'
        parts.append(f'<joint name="{name}" type="{kind}">{ends}{"".join(chosen)}</joint>')
    return f'<?xml version="1.0"?><robot name="r">{"".join(parts)}</robot>'.encode()


def seeds(data):
    whole = [path.read_bytes() for path in sorted((data / "urdf").rglob("*.urdf")) if path.stat().st_size < 20_000]
    whole += [path.read_bytes() for path in sorted((data / "bad_inputs").glob("urdf_*.urdf"))]
    assert len(whole) > 5
    return whole


def test_mutated_and_structured_files(data, tmp_path):
    rigs, refused = outcomes(urdf, st.one_of(structured(), mutated(seeds(data))), tmp_path / "mutated.urdf")
    assert min(rigs, refused) > 0  # else one of the two was not tried

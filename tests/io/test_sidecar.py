from __future__ import annotations

import math

import pytest

import poise
from poise.io.sidecar import apply_sidecar, format_sidecar
from tests.strategies import straight_chain


def applied(tmp_path, text, skeleton=None):
    path = tmp_path / "rig.ik.toml"
    path.write_text(text)
    return apply_sidecar(skeleton or straight_chain(3), path)


def test_chains_axes_and_ranges(tmp_path):
    s = applied(
        tmp_path,
        """
        [chains]
        arm = { root = "j0", tip = "tip" }
        [joints.j1]
        axis = [0, 0, 2]
        range_deg = [0, 150]
        [joints."j[02]"]
        axis = [1, 0, 0]
        """,
    )
    assert s.chains == {"arm": ("j0", "tip")}
    assert s["j1"].limit == poise.Range(0, math.radians(150), axis=(0, 0, 1))
    assert s["j1"].limit.source == "sidecar"
    assert s["j0"].limit == s["j2"].limit == poise.Range(-math.inf, math.inf, axis=(1, 0, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[joints", "not a TOML file"),
        ("[limits]", "unknown table 'limits'"),
        ("joints = 3", "joints: must be a table"),
        ("[joints]\nj1 = 3", "'j1'.*must be a table"),
        ("[joints.knee]\naxis=[1,0,0]", "no joint 'knee'"),
        ("[joints.j1]\naxis=[0,0,0]", "'j1'.*zero length"),
        ("[joints.j1]\naxis=[1,0]", "'j1'.*axis"),
        ("[joints.j1]\nrange=[0,1]", "'j1'.*needs axis"),
        ("[joints.j1]\naxis=[1,0,0]\nrange=[1,0]", "'j1'.*empty range"),
        ("[joints.j1]\naxis=[1,0,0]\nrange=[nan,0]", "'j1'.*empty range"),
        ("[joints.j1]\naxis=[1,0,0]\nrange=[0]", "'j1'.*two numbers"),
        ("[joints.j1]\naxis=[1,0,0]\nrange=[0,true]", "'j1'.*two numbers"),
        ("[joints.j1]\naxis=[1,0,0]\nrange=[0,1]\nrange_deg=[0,1]", "not both"),
        ("[joints.j1]\nlimit=[0,1]", "unknown key 'limit'"),
        ("[chains]\narm={root='j0'}", "'arm'.*root = NAME"),
        ("[chains]\narm={root='j0',tip='hand'}", "'arm'.*no joint 'hand'"),
        ("[chains]\narm={root='tip',tip='j0'}", "'arm'.*not above"),
        ('a = "\\uD800"', "not a TOML file"),
        (f"[joints.j1]\naxis=[1,0,0]\nrange=[0,{'9' * 400}]", "'j1'.*too large"),
        (f"[joints.j1]\naxis=[1,0,0]\nrange_deg=[0,{'9' * 400}]", "'j1'.*too large"),
        (f"[joints.j1]\naxis=[1,0,{'9' * 400}]", "'j1'.*axis.*too large"),
        (f"[joints.j1]\naxis=[1,0,{'9' * 5000}]", "not a TOML file"),
        ("[joints.j1]\naxis=[true,0,1]", "'j1'.*an axis is three numbers"),
        ("[joints.j1]\naxis=['1','0','0']", "'j1'.*an axis is three numbers"),
        ("[joints.j1]\naxis={x=1}", "'j1'.*an axis is three numbers"),
    ],
)
def test_mistakes_name_file_place_and_reason(tmp_path, text, message):
    with pytest.raises(poise.FileError, match=rf"(?s)rig\.ik\.toml.*{message}"):
        applied(tmp_path, text)


def test_an_empty_file_changes_nothing(tmp_path):
    skeleton = straight_chain(3)
    assert applied(tmp_path, "", skeleton) == skeleton


def test_joints_without_a_limit_are_written_as_free(tmp_path):
    kinds = [poise.Kind.HINGE, poise.Kind.BALL]
    skeleton = poise.Skeleton.build(["hinge", "ball"], [-1, 0], kinds, axes=[(0, 0, 1)] * 2)
    written = applied(tmp_path, format_sidecar(skeleton, ["hinge", "ball"]), skeleton)
    assert written.limits == (poise.Range(-math.inf, math.inf), poise.EulerBox("XYZ"))

from __future__ import annotations

import math

import numpy as np
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
        ("loops = 3", "loops: must be a table"),
        ("[loops.rod]\na='j0'\nb='hand'", "'rod'.*no joint 'hand'; did you mean|'rod'.*no joint 'hand'; joints: j0"),
        ("[loops.rod]\na='j0'", "'rod'.*a loop needs the joints a and b"),
        ("[loops.rod]\na='j0'\nb='j1'\npoint=[0,0,0]", "'rod'.*unknown key 'point'; known: a, b, point_a"),
        ("[loops.rod]\na='j0'\nb='j1'\npoint_a=[0,0]", "'rod'.*point_a of a loop has 3 numbers"),
        ("[loops.rod]\na='j0'\nb='j1'\npoint_a=[0,0,nan]", "'rod'.*point_a of a loop"),
        ("[loops.rod]\na='j0'\nb='j1'\nrotation='up'", "'rod'.*rotation of a loop"),
        ("[loops.rod]\na='j0'\nb='j0'", "'rod'.*both ends"),
        (f"[loops.rod]\na='j0'\nb='j1'\npoint_a=[0,0,{'9' * 400}]", "'rod'.*point_a of a loop"),
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


LOOPS = """
[loops.rod]
a = "j0"
b = "tip"
point_a = [1, 2, 0.1]

[loops."odd name"]
a = "j1"
b = "j0"
rotation = [0.5, 0.5, -0.5, 0.5]
holds = ["line", "axis"]
axis = [0, 1, 0]
"""


def test_loops_are_read_and_written_back(tmp_path):
    skeleton = applied(tmp_path, LOOPS)
    rod = poise.Loop("j0", "tip", (1, 2, 0.1), name="rod")
    odd = poise.Loop(
        "j1", "j0", rotation=(0.5, 0.5, -0.5, 0.5), holds=("line", "axis"), axis=(0, 1, 0), name="odd name"
    )
    assert skeleton.loops == (rod, odd)
    assert applied(tmp_path, format_sidecar(skeleton)).loops == (rod, odd)
    numbers = np.random.default_rng(2).normal(size=10)
    random_loop = poise.Loop("j1", "tip", numbers[:3], numbers[3:6], numbers[6:], name="any")
    assert applied(tmp_path, format_sidecar(skeleton.with_loops([random_loop]))).loops == (random_loop,)


def test_a_loop_replaces_that_of_the_file_with_its_name(tmp_path):
    old = [poise.Loop("j1", "tip", name="rod"), poise.Loop("j2", "tip", name="other")]
    skeleton = applied(tmp_path, LOOPS, straight_chain(3).with_loops(old))
    assert [(loop.name, loop.a) for loop in skeleton.loops] == [("rod", "j0"), ("other", "j2"), ("odd name", "j1")]

"""What is written as a sidecar is read back as it was."""

from __future__ import annotations

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.errors import InputError, UnknownNameError
from poise.io import samples
from poise.io.sidecar import apply_sidecar, format_sidecar, quote_key, read_roles
from poise.model.skeleton import Kind, Skeleton

# Multiples of 15 are refused, for they look like degrees.
ends = st.floats(allow_nan=False, width=64).filter(lambda end: end == 0.0 or end % 15.0 != 0.0)
pairs = st.tuples(ends, ends).map(sorted).map(tuple).filter(lambda p: p[0] != math.inf and p[1] != -math.inf)
axes = st.tuples(*[st.floats(-1e6, 1e6)] * 3).filter(lambda a: max(map(abs, a)) > 1e-3)
softs = st.one_of(st.just(0.0), st.floats(1e-300, 1e300))
sides = st.tuples(st.floats(-math.pi, 0.0), st.floats(0.0, math.pi))
orders = st.sampled_from(["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
ranges = st.builds(lambda p, soft: poise.Range(*p, soft=soft), pairs, softs)
hinges = st.builds(lambda p, axis, soft: poise.Range(*p, axis=axis, soft=soft), pairs, axes, softs)
boxes = st.builds(lambda o, x, y, z, s: poise.EulerBox(o, x=x, y=y, z=z, soft=s), orders, pairs, pairs, pairs, softs)


@st.composite
def cones(draw):
    try:
        across = draw(st.none() | axes)
        return poise.SwingTwist(draw(axes), draw(st.tuples(sides, sides)), draw(pairs), across, soft=draw(softs))
    except InputError:  # across is along the axis
        return poise.SwingTwist((0, 0, 1), 0.5)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
odd = st.sampled_from(
    ["*", "j[0]", "a.b", 'say "no"', "back\\slash", "line\nbreak", "\x00", "\x7f", "é", "骨", "?", "", " "]
)


@st.composite
def skeletons(draw):
    given_names = draw(st.lists(names | odd, min_size=4, max_size=4, unique=True))
    kinds = [Kind.FIXED, Kind.HINGE, Kind.BALL, Kind.BALL]
    return Skeleton.build(given_names, [-1, 0, 1, 2], kinds, axes=[[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])


def read(folder, skeleton, text):
    path = folder / "rig.ik.toml"
    path.write_bytes(text.encode())
    return apply_sidecar(skeleton, path)


@given(skeleton=skeletons(), hinge=ranges, first=st.one_of(hinges, cones(), boxes), second=cones() | boxes)
def test_limits_and_chains_come_back_as_they_were(tmp_path_factory, skeleton, hinge, first, second):
    _, a, b, c = skeleton.names
    chains = {"an odd.name": (a, c), b: (b, c)}
    limited = skeleton
    for name, limit in ((a, hinge), (b, first), (c, second)):
        limited = limited.with_limits({name: limit})
    back = read(tmp_path_factory.mktemp("sidecar"), skeleton, format_sidecar(limited, chains=chains))
    assert back.limits == limited.limits
    assert dict(back.chains) == chains


def test_a_name_that_is_a_glob_means_itself_alone(tmp_path):
    skeleton = Skeleton.build(["j[0]", "j0", "*"], [-1, 0, 1], [Kind.BALL] * 3)
    limited = skeleton.with_limits({"j[0]": poise.SwingTwist((0, 1, 0), 0.5)})
    back = read(tmp_path, skeleton, format_sidecar(limited))
    assert [limit is not None for limit in back.limits] == [True, False, False]


def test_what_a_sidecar_took_away_stays_away(tmp_path):
    rig = poise.load(samples.path("arm.urdf"))
    name = next(n for n, limit in zip(rig.skeleton.names, rig.skeleton.limits, strict=True) if limit)
    freed = rig.skeleton.with_limits({name: None})
    back = read(tmp_path, rig.skeleton, format_sidecar(freed, [name]))
    assert not back[name].limit.bounded
    assert sum(limit is not None for limit in back.limits) == sum(limit is not None for limit in rig.skeleton.limits)


def test_the_sample_loads_the_same_with_the_sidecar_written_for_it(tmp_path):
    rig = poise.load(samples.path("humanoid.glb"))
    (tmp_path / "humanoid.glb").write_bytes(samples.path("humanoid.glb").read_bytes())
    (tmp_path / "humanoid.ik.toml").write_text(format_sidecar(rig.skeleton, roles={"hips": "Hips"}))
    again = poise.load(tmp_path / "humanoid.glb")
    assert again.skeleton == rig.skeleton
    assert read_roles(again.skeleton, tmp_path / "humanoid.ik.toml") == {"hips": "Hips"}


def test_mistakes_are_named():
    skeleton = Skeleton.build(["a", "b"], [-1, 0], [Kind.BALL, Kind.FIXED])
    with pytest.raises(UnknownNameError, match="no joint 'c'"):
        format_sidecar(skeleton, ["c"])
    with pytest.raises(InputError, match="not above"):
        format_sidecar(skeleton, chains={"x": ("b", "a")})
    with pytest.raises(InputError, match="half a character"):
        format_sidecar(skeleton, chains={"\ud800": ("a", "b")})
    with pytest.raises(InputError, match="fixed"):
        format_sidecar(skeleton, ["b"])


def test_nothing_to_say_is_an_empty_file():
    assert format_sidecar(Skeleton.build(["a"], [-1], [Kind.BALL])) == ""


@given(names | odd)
def test_a_quoted_name_reads_back(name):
    assert tomllib.loads(f"{quote_key(name)} = {quote_key(name, allows_bare=False)}") == {name: name}

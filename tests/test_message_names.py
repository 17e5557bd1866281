"""Names in messages exist: the check that conftest.py makes after each test, and the names that tests seldom raise."""

from __future__ import annotations

import warnings

import pytest

import poise
from tests import message_names


@pytest.mark.parametrize(
    "text",
    [
        "a clip is a poise.Clip such as rig.clips[0], not 3",
        "poise.rotations.from_matrix makes one of a matrix",
        "use Terrain.flat, Skeleton.with_limits or MethodMetrics.anything",
        "`optional` of Position must be True or False",
        "the document has no joints 'a'; save without `like`, or run `poise limits --anatomical`",
        "/home/rig.new/poise.other: no such file; '/poise.nothing', 'rig.nothing' and rig.glb are names of files",
        "result.reached.all() of a batch",
    ],
)
def test_names_that_exist(text):
    assert message_names.find_unknown_names(text) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("read it with poise.read_motion", ["poise.read_motion"]),
        ("poise.humanoid(rig) finds them", ["poise.humanoid"]),  # an old name
        ("see poise.rotations.from_matrices or rig.limbs", ["poise.rotations.from_matrices", "rig.limbs"]),
        ("call Pose.blended", ["Pose.blended"]),  # an old name
        ("`optionals` of Position, as `poise optimise` and `Skeleton.chain_of(x)` say",
         ["`optionals`", "`poise optimise`", "`Skeleton.chain_of(x)`"]),
    ],
)  # fmt: skip
def test_names_that_do_not_exist(text, names):
    assert message_names.find_unknown_names(text) == names


def test_errors_and_warnings_are_recorded():
    message_names.messages.clear()
    for error in (poise.InputError("one"), poise.FileError("a.bvh", "two"), poise.NotReachedError("three")):
        with pytest.raises(type(error)):
            raise error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("four", poise.PoiseWarning, stacklevel=1)
    assert message_names.messages == {"one", "a.bvh: two", "three", "four"}
    message_names.messages.add("see poise.nothing")
    assert message_names.take_unknown_names() == ["poise.nothing: see poise.nothing"]
    assert message_names.messages == set()


def test_equivalents_of_names_in_other_libraries_exist():
    names = [f"poise.{name}" for name in poise._FOREIGN_NAMES.values()]
    assert [name for name in names if message_names.find_unknown_names(name)] == []

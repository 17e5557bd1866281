"""Bad stretches of a report: all of them, each with its frames, and the worst are those of the verdict."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.ground.report.measures import knee_bends
from poise.io import samples
from poise.viewer.document.terrain import plant_clip


@pytest.fixture(scope="module")
def rig():
    return poise.load(samples.path("humanoid.glb"))


@pytest.fixture(scope="module")
def report(rig):
    """A walk on stairs that are too steep for it."""
    return plant_clip(rig, rig.clips[0], "stairs:0.3,0.2").report


def test_the_worst_of_each_measure_is_among_them(report):
    assert len(report.stretches) > len(report.worse) > 0
    assert {each.measure for each in report.stretches} == {each.measure for each in report.worse}
    for worst in report.worse:
        same = [each for each in report.stretches if each.measure == worst.measure]
        assert (worst.value, worst.bound) in [(each.value, each.bound) for each in same]
        assert worst.value - worst.bound == max(each.value - each.bound for each in same)


def test_they_are_in_order_and_cover_exactly_the_bad_frames(report):
    firsts = [each.first for each in report.stretches]
    assert firsts == sorted(firsts)
    bends = [each for each in report.stretches if each.measure == "bend"]
    before, after = (knee_bends(motion) for motion in report.motions)
    is_bad = (after > before.max(axis=0) + 35.0).any(axis=1)  # the bound on stairs
    covered = np.zeros(len(is_bad), dtype=int)
    for each in bends:
        covered[each.first : each.last + 1] += 1
        assert f"{report.contacts.times[each.first]:.2f}" in each.sentence
    np.testing.assert_array_equal(covered, is_bad)


def test_a_good_clip_has_none(rig):
    report = plant_clip(rig, rig.clips[0], "flat").report
    assert (report.ok, report.worse, report.stretches) == (True, (), ())

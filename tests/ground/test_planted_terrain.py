"""The terrain of a planted clip is in the clip's own lengths and axes."""

from __future__ import annotations

import numpy as np
import pytest

from poise import Terrain, lock_feet, plant_feet
from poise.ground.figure.footing import Footing
from poise.maths import rotations
from tests.contracts.clips import walk
from tests.contracts.moved_skeletons import QUARTER, in_units, placed

GROUNDS = {
    "slope": Terrain.slope(8),
    "stairs": Terrain.stairs(0.1, 0.3),
    "noise": Terrain.noise(0.05),
    "function in metres": Terrain.function(lambda x, z: 0.1 * np.sin(x) + 0.1 * z, unit=100.0),
}


def upright(pose):
    """Points over the clip, (k, 3), in its own lengths."""
    return np.array(pose.world.positions).reshape(-1, 3)


@pytest.mark.parametrize("ground", GROUNDS)
def test_it_takes_points_of_a_clip_in_centimetres(ground):
    clip = in_units(walk(), 100.0)
    planted = plant_feet(clip, GROUNDS[ground])
    metre, given = planted.figure.metre, GROUNDS[ground]
    assert metre > 50.0
    points, unit = upright(planted.poses), metre if given.unit is None else given.unit
    np.testing.assert_allclose(planted.terrain.heights(points), unit * given.heights(points / unit), atol=1e-9 * metre)
    assert planted.terrain.unit == 1.0


@pytest.mark.parametrize("ground", ["slope", "stairs"])
def test_feet_that_stand_are_on_it(ground):
    clip = in_units(walk(), 100.0)
    planted = plant_feet(clip, GROUNDS[ground])
    figure, plants = planted.figure, planted.plants
    own = rotations.rotate(rotations.inverse(figure.turn), plants.ball[~plants.hangs[:, 1]]) * figure.metre
    np.testing.assert_allclose(planted.terrain.heights(own), own[:, 1], atol=1e-6 * figure.metre)
    same = Footing(planted.terrain, figure).heights(plants.ball)
    np.testing.assert_allclose(same, Footing(GROUNDS[ground], figure).heights(plants.ball), atol=1e-12)


def test_it_has_the_up_axis_of_the_clip():
    clip = placed(walk(), QUARTER, np.zeros(3))
    planted = plant_feet(clip, Terrain.slope(8, up="y"))
    assert (planted.figure.up, planted.terrain.up) == ("z", "z")


def test_the_floor_of_a_locked_clip_too():
    planted = lock_feet(in_units(walk(), 100.0))
    floor = planted.terrain.heights(np.zeros(3))
    assert floor == pytest.approx(100.0 * float(lock_feet(walk()).terrain.heights(np.zeros(3))), abs=1e-6)

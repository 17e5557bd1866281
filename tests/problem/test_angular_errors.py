"""The side of a limb against its pole."""

from __future__ import annotations

import numpy as np
import pytest

from poise.problem.angular_errors import find_bend_direction

FIRST, MIDDLE, TIP = np.zeros((1, 3)), np.array([[1.0, 1.0, 0.0]]), np.array([[2.0, 0.0, 0.0]])


def angle(middle, target):
    return find_bend_direction(FIRST, np.atleast_2d(middle), TIP, np.atleast_2d(target)).pole_angle.item()


def test_the_angle_turns_the_middle_to_the_pole():
    assert angle(MIDDLE, [1.0, 0.0, 3.0]) == pytest.approx(np.pi / 2)
    assert angle(MIDDLE, [5.0, 0.0, -1.0]) == pytest.approx(-np.pi / 2)


@pytest.mark.parametrize("off", [0.0, 1e-13])
def test_there_is_none_where_the_middle_or_the_pole_is_on_the_line(off):
    assert angle(MIDDLE, [0.7, 0.0, off]) == 0
    assert angle([1.0, 0.0, off], [1.0, 3.0, 0.0]) == 0

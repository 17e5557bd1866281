from __future__ import annotations

import pytest

import poise
from poise.bones import REQUIRED
from tests.humanoid_figures import CONVENTIONS, figure


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention(name):
    made = figure(CONVENTIONS[name])
    found = poise.humanoid(made.skeleton())
    for role, joint in made.roles.items():
        assert (role, found.joints.get(role)) == (role, joint)
    assert found.missing == ()
    assert found.kind == "humanoid"

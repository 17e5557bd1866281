"""Where mass is: people by role, robots by their files, and the centre of it in a pose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import samples
from tests.model.humanoid_figures import CONVENTIONS, figure
from tests.model.test_pinocchio import models, pin, pin_q  # noqa: F401
from tests.strategies import random_q, rng_of, seeds

FIGURE = poise.load(samples.path("humanoid.glb"))
CHAIN = poise.Skeleton.build(["a", "b"], [-1, 0], [3, 3], offsets=[(0, 0, 0), (0, 2, 0)])


def test_shares_of_a_person_sum_to_one_and_both_sides_carry_the_same():
    found = poise.masses(FIGURE)
    assert sum(body.mass for body in found.values()) == pytest.approx(1.0, abs=1e-12)
    for name, body in found.items():
        if name.startswith("Left"):
            assert found[name.replace("Left", "Right")].mass == body.mass
    assert found["LeftUpLeg"].mass == pytest.approx(0.1416)  # de Leva's thigh


def test_a_person_at_rest_has_its_centre_between_hips_and_navel():
    """Men have it at 0.55 of their height, standing with hanging arms (de Leva 1996, table 4)."""
    at = FIGURE.rest.world.positions
    height = np.ptp(at[:, 1])
    centre = poise.centre_of_mass(FIGURE.rest)
    assert abs(centre[0]) < 1e-9
    assert 0.5 * height < centre[1] - at[:, 1].min() < 0.66 * height


@pytest.mark.parametrize(("height", "carrier"), [(0.88, "upperChest"), (0.93, "chest")])
def test_the_upper_trunk_hangs_at_the_highest_joint_below_its_centre(height, carrier):
    """Which de Leva has at 0.904 of the way from the hips up to the shoulders."""
    body = figure(CONVENTIONS["vrm"])
    hips, shoulders = (body.points[body.names.index(name)][1] for name in ("leftUpperLeg", "leftUpperArm"))
    body.points[body.names.index("upperChest")] = (0.0, hips + height * (shoulders - hips), 0.0)
    assert poise.masses(body.skeleton())[carrier].mass == pytest.approx(0.1596)


def test_it_is_the_mean_of_the_centres_weighed_by_mass():
    q = np.array([[1, 0, 0, 0, 1, 0, 0, 0], [np.sqrt(0.5), 0, 0, np.sqrt(0.5), 1, 0, 0, 0]])
    masses = {"a": 3, "b": (1.0, (0.0, 1.0, 0.0))}
    centres = poise.centre_of_mass(poise.Pose(CHAIN, q), masses)
    np.testing.assert_allclose(centres, [[0, 0.75, 0], [-0.75, 0, 0]], atol=1e-15)


@given(seeds)
@settings(max_examples=20)
def test_a_batch_has_the_bits_of_its_poses_and_kilograms_do_not_matter(seed):
    poses = poise.Pose(FIGURE.skeleton, random_q(rng_of(seed), FIGURE.skeleton, 2, 3))
    whole = poise.centre_of_mass(poses)
    assert whole.shape == (2, 3, 3)
    for i in np.ndindex(2, 3):
        np.testing.assert_array_equal(poise.centre_of_mass(poses[i]), whole[i])
    heavy = {name: body._replace(mass=64.0 * body.mass) for name, body in poise.masses(FIGURE).items()}
    np.testing.assert_array_equal(poise.centre_of_mass(poses, heavy), whole)


@pytest.mark.parametrize("name", ["panda", "ur5", "g1_29dof", "solo12"])
def test_robots_weigh_what_pinocchio_finds(pin, data, name):  # noqa: F811
    """A link below a fixed joint is its parent's there; the whole is the same. Its world is ours (test_pinocchio)."""
    model, model_data, skeleton = models(pin, data, name)
    masses = poise.masses(skeleton)
    base = model.inertias[0]
    assert sum(body.mass for body in masses.values()) == pytest.approx(sum(one.mass for one in model.inertias))
    q = random_q(rng_of(5), skeleton, 10)
    ours = poise.centre_of_mass(poise.Pose(skeleton, q))
    for row in range(len(q)):
        moved = pin.centerOfMass(model, model_data, pin_q(model, skeleton, q[row]))
        total = model_data.mass[0] + base.mass  # Pinocchio leaves the base out
        theirs = (model_data.mass[0] * moved + base.mass * base.lever) / total
        np.testing.assert_allclose(ours[row], theirs, atol=1e-12)


def lever(folder, inertial):
    """A robot of two links; the second has an <inertial> with this inside."""
    inside = f"<inertial>{inertial}</inertial>" if inertial else ""
    path = folder / "lever.urdf"
    path.write_text(
        f'<robot name="r"><link name="a"/><link name="b">{inside}</link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    return poise.load(path)


def test_a_link_carries_its_mass_where_the_file_says(tmp_path):
    rig = lever(tmp_path, '<origin xyz="0.5 0 1e-1"/><mass value="2.5"/>')
    assert poise.masses(rig) == {"j": poise.BodyMass(2.5, (0.5, 0.0, 0.1))}
    np.testing.assert_allclose(poise.centre_of_mass(rig.rest), [0.5, 0, 0.1])


@pytest.mark.parametrize("inertial", ["", '<mass value="0"/>'])
def test_a_robot_without_masses_says_so(tmp_path, inertial):
    rig = lever(tmp_path, inertial)
    assert not any("inertial" in note for note in rig.notes)
    with pytest.raises(poise.InputError, match="the masses of this skeleton are unknown"):
        poise.masses(rig)


@pytest.mark.parametrize(
    "inertial",
    ['<mass value="heavy"/>', '<mass value="nan"/>', '<mass value="-1"/>', '<origin xyz="1 2"/><mass value="1"/>'],
)
def test_an_inertial_that_cannot_be_read_is_a_note(tmp_path, inertial):
    with pytest.warns(poise.PoiseWarning, match="link 'b': its <inertial> has no finite mass and position"):
        lever(tmp_path, inertial)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"a": 0.0}, "the mass of 'a' is a finite number above 0"),
        ({"a": -1.0}, "the mass of 'a' is a finite number above 0"),
        ({"a": np.inf}, "the mass of 'a'"),
        ({"a": "heavy"}, "the mass of 'a'"),
        ({"a": (1.0, (0.0, 1.0))}, "the centre of mass of 'a'"),
        ({"a": (1.0, (0.0, np.nan, 0.0))}, "the centre of mass of 'a'"),
        ({}, "masses are a mapping from joints to masses"),
        ([1.0, 2.0], "masses are a mapping from joints to masses"),
        ({"c": 1.0}, "no joint 'c'; joints: a, b"),
    ],
)
def test_wrong_masses_are_reported(wrong, sentence):
    with pytest.raises(poise.PoiseError, match=sentence):
        poise.centre_of_mass(poise.Pose(CHAIN, CHAIN.rest_q), wrong)


def test_a_skeleton_that_is_unknown_is_reported():
    with pytest.raises(poise.InputError, match="masses=.*give masses=|give masses="):
        poise.masses(CHAIN)
    with pytest.raises(poise.InputError, match="masses\\(\\) takes a Rig or a Skeleton, not a Pose"):
        poise.masses(FIGURE.rest)

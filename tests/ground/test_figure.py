"""Figure: the legs of a rig, which way is up, how long a metre is, and what carries the whole."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise import Clip, InputError, Kind, Pose, Skeleton, UnsupportedError
from poise.ground.figure.figure import HEIGHT, figure_of
from poise.ground.figure.motion import rest_motion
from poise.maths import rotations
from tests.contracts.moved_skeletons import QUARTER, in_units, placed
from tests.ground.clips import clip_of
from tests.ground.motions import load

LEG = 0.82  # [m] thigh and shin of the skeleton below


def skeleton(*, kinds=None, over=(), names=None, short=()):
    """Hips, spine, head and two legs, y up, in metres; `over` joints above the hips, by kind."""
    rows = ["hips", "spine", "head"]
    parents, offsets = [-1, 0, 1], [(0, 0.9, 0), (0, 0.3, 0), (0, 0.3, 0)]
    for side, x in (("left", 0.1), ("right", -0.1)):
        bones = (("UpperLeg", (x, 0, 0)), ("LowerLeg", (0, -0.42, 0)), ("Foot", (0, -0.4, 0)), ("Toes", (0, 0, 0.15)))
        for part, offset in bones:
            parents.append(0 if part == "UpperLeg" else len(rows) - 1)
            rows.append(side + part)
            offsets.append((0, 0, 0) if side in short else offset)
    above = [f"over{i}" for i in range(len(over))]
    parents = [*range(-1, len(over) - 1), *(p + len(over) for p in parents)]
    rows = [*above, *((names or {}).get(name, name) for name in rows)]
    made = dict.fromkeys(rows, Kind.BALL) | dict(zip(above, over, strict=True)) | (kinds or {})
    return Skeleton.build(
        rows, parents, made.values(), offsets=[(0, 0, 0)] * len(over) + offsets, axes=[(1, 0, 0)] * len(rows)
    )


def at_rest(s):
    return Pose(s, s.rest_q)


class TestMetre:
    def test_a_figure_counts_as_a_metre_seventy_tall_by_its_legs(self):
        figure = figure_of(at_rest(skeleton()))
        assert figure.metre == pytest.approx(LEG / 0.49 / HEIGHT, rel=1e-12)

    @pytest.mark.parametrize("factor", [1e-6, 0.01, 39.37, 1e6])
    def test_it_goes_with_the_units(self, data, factor):
        clip = clip_of(data, "walk_mass")[1]
        plain, scaled = figure_of(clip), figure_of(in_units(clip, factor))
        assert scaled.metre == pytest.approx(factor * plain.metre, rel=1e-12)
        assert (scaled.up, scaled.mover, scaled.legs) == (plain.up, plain.mover, plain.legs)

    def test_given_it_is_taken(self):
        assert figure_of(at_rest(skeleton()), metre=100.0).metre == 100.0
        assert figure_of(at_rest(skeleton()), metre=3).metre == 3.0

    @pytest.mark.parametrize("metre", [0, 0.0, -1.0, np.nan, np.inf])
    def test_no_length(self, metre):
        with pytest.raises(InputError, match="a metre must be a positive number of file units, not"):
            figure_of(at_rest(skeleton()), metre=metre)

    def test_a_leg_of_no_length(self):
        with pytest.raises(UnsupportedError, match="the right leg has no length in the rest pose"):
            figure_of(at_rest(skeleton(short=("right",))))


class TestUp:
    @pytest.mark.parametrize(
        ("name", "up"), [("walk_mass", "y"), ("cmu_12_01_walk", "y"), ("knight walks", "y"), ("woman walks", "z")]
    )
    def test_of_files(self, data, name, up):
        rig, clip = clip_of(data, name)
        assert figure_of(clip, rig=rig).up == up

    def test_where_the_legs_lead_away_from(self, data):
        clip = clip_of(data, "walk_mass")[1]
        assert figure_of(placed(clip, QUARTER, np.zeros(3))).up == "z"

    def test_given_it_is_taken(self):
        assert figure_of(at_rest(skeleton()), up="z").up == "z"

    def test_the_turn_takes_up_to_z(self):
        for up, axis in (("y", [0.0, 1.0, 0.0]), ("z", [0.0, 0.0, 1.0])):
            turn = figure_of(at_rest(skeleton()), up=up).turn
            np.testing.assert_allclose(rotations.rotate(turn, np.array(axis)), [0.0, 0.0, 1.0], atol=1e-15)

    def test_a_figure_that_lies_for_a_while_stands_on_the_whole(self):
        s = skeleton()
        q = np.tile(s.rest_q, (5, 1))
        q[0, s.q_slice("hips")] = rotations.about(np.array([1.0, 0.0, 0.0]), np.pi / 2)
        assert figure_of(Clip(np.arange(5) / 30.0, Pose(s, q))).up == "y"


class TestMover:
    @pytest.mark.parametrize(
        ("over", "mover"),
        [
            ((), "hips"),
            ((Kind.FREE,), "over0"),
            ((Kind.FIXED, Kind.BALL), "over1"),
            ((Kind.FIXED, Kind.FIXED), "hips"),
        ],
    )
    def test_the_topmost_joint_that_can_move(self, over, mover):
        assert figure_of(at_rest(skeleton(over=over))).mover == mover

    def test_of_files(self, data):
        for name, mover in (("walk_mass", "Character1_Hips"), ("cmu_12_01_walk", "Hips")):
            assert figure_of(clip_of(data, name)[1]).mover == mover

    def test_nothing_above_the_legs_can_move(self):
        with pytest.raises(UnsupportedError, match="no joint above the legs can move"):
            figure_of(at_rest(skeleton(kinds={"hips": Kind.FIXED})))


class TestLegs:
    def test_all_or_those_named_in_the_order_named(self):
        assert [leg.name for leg in figure_of(at_rest(skeleton())).legs] == ["left", "right"]
        assert [leg.name for leg in figure_of(at_rest(skeleton()), legs=["right", "left"]).legs] == ["right", "left"]
        assert [leg.name for leg in figure_of(at_rest(skeleton()), legs=("right",)).legs] == ["right"]

    @pytest.mark.parametrize("legs", [["tail"], ["left", "tail"], [], ["Left"]])
    def test_unknown_ones_name_those_that_exist(self, legs):
        with pytest.raises(InputError, match="no leg .*; legs: left, right"):
            figure_of(at_rest(skeleton()), legs=legs)

    def test_named_twice(self):
        with pytest.raises(InputError, match="a leg is named twice"):
            figure_of(at_rest(skeleton()), legs=["left", "left"])

    def test_none(self, data):
        with pytest.raises(UnsupportedError, match="no legs that can be told"):
            figure_of(at_rest(load(data / "urdf/panda.urdf").skeleton))

    def test_toes_that_do_not_turn_freely(self):
        with pytest.raises(UnsupportedError, match="the right leg's joint 'rightToes' is a hinge: legs turn on balls"):
            figure_of(at_rest(skeleton(kinds={"rightToes": Kind.HINGE})))

    @pytest.mark.parametrize("joint", ["rightUpperLeg", "rightLowerLeg", "rightFoot"])
    def test_a_leg_with_a_hinge_is_a_robots(self, joint):
        figure = figure_of(at_rest(skeleton(kinds={joint: Kind.HINGE})))
        assert figure.is_robot
        assert [leg.toes for leg in figure.legs] == ["leftToes", None]
        assert not figure_of(at_rest(skeleton()), legs=["left"]).is_robot

    def test_a_robot_needs_a_base_that_moves(self, data):
        with pytest.raises(UnsupportedError, match="no joint above the legs can move"):
            figure_of(at_rest(load(data / "urdf/g1_29dof.urdf").skeleton))


def test_the_roles_of_a_sidecar_win(tmp_path):
    s = skeleton(names={"leftFoot": "a", "leftToes": "b", "rightFoot": "c", "rightToes": "d"})
    q = np.tile(s.rest_q, (2, 1))
    poise.save(Clip(np.array([0.0, 0.1]), Pose(s, q)), tmp_path / "figure.bvh")
    (tmp_path / "figure.ik.toml").write_text(
        '[humanoid]\nleftUpperLeg = "rightUpperLeg"\nleftLowerLeg = "rightLowerLeg"\nleftFoot = "c"\n'
        'rightUpperLeg = "leftUpperLeg"\nrightLowerLeg = "leftLowerLeg"\nrightFoot = "a"\n'
    )
    rig = poise.load(tmp_path / "figure.bvh")
    legs = {leg.name: leg.foot for leg in figure_of(rig.clips[0], rig=rig).legs}
    assert legs == {"left": "c", "right": "a"}


def test_a_rest_pose_keeps_no_skeleton_alive():
    """What is kept of it lives as long as the skeleton, and holds none of it."""
    rig = poise.load(poise.sample("humanoid"))
    figure = figure_of(rig.clips[0], rig=rig)
    first = rest_motion(figure)
    other = replace(figure, trunk=figure.mover, arms=())
    assert rest_motion(other).figure is other
    np.testing.assert_array_equal(rest_motion(other).places, first.places)
    made = skeleton()
    walk = Clip(np.zeros(1), Pose(made, made.rest_q[None]))
    seen = weakref.ref(made)
    gc.disable()
    try:
        rest_motion(figure_of(walk))
        del made, walk
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("options", [{"up": ["y"]}, {"legs": (["left"],)}, {"legs": 3}, {"metre": [1.0]}])
def test_choices_that_cannot_be_kept_are_refused_in_words(options):
    rig = poise.load(poise.sample("humanoid"))
    with pytest.raises(InputError):
        figure_of(rig.clips[0], rig=rig, **options)

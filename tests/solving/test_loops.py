"""Closed loops of a file: kept as data, and no pose that leaves one open counts as reached."""

from __future__ import annotations

import dataclasses
import json
import pickle
import warnings

import numpy as np
import pytest

import poise
from poise import Loop, Position, Status
from poise.conversion.rig_edits import UnitChange, change_units, keep_one_root
from poise.maths import rotations
from poise.model.loop_gaps import compute_gaps, compute_pose_gaps, find_touched_loops, list_ring_rows
from tests import loop_models
from tests.blind_solver import Blind, solve_blindly
from tests.command_line import run

NONE = (1.0, 0.0, 0.0, 0.0)
OPEN = [0.4 + 0.2 * np.sin(0.4), 0, 0.2 * np.cos(0.4)]  # where both cranks would have to lean by 0.4


def fourbar(loops=True, **more):
    """Two cranks of 0.2 that a coupler of 0.4 joins at rest; the tree has the coupler on the first one."""
    tie = Loop("b", "c", (0.4, 0, 0), (0, 0, 0.2), name="loop")
    return poise.Skeleton.build(
        ["base", "a", "b", "tip", "c"], [-1, 0, 1, 2, 0], [0, 1, 1, 0, 1],
        offsets=[(0, 0, 0), (0, 0, 0), (0, 0, 0.2), (0.4, 0, 0), (0.4, 0, 0)], axes=[(0, 1, 0)] * 5,
        loops=(tie,) if loops else (), metres_per_unit=1.0, up="z", aliases={"link": 1}, **more,
    )  # fmt: skip


def rest(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q)


class TestStatus:
    def test_a_pose_that_opens_a_loop_is_not_reached(self):
        result = solve_blindly(rest(fourbar()), Position("tip", OPEN))
        assert not result.reached
        assert not result
        assert result.status is Status.loops_open
        world = result.pose.world
        gap = np.linalg.norm(world["tip"].positions - world["c"].positions - rotations.rotate(
            world["c"].rotations, np.array([0, 0, 0.2])
        ))  # fmt: skip
        (left,) = result.open_loops()
        assert left.distance == pytest.approx(gap, abs=1e-12)
        assert (left.name, left.joints, left.angle) == ("loop", ("b", "c"), 0.0)
        assert f"the loop 'loop' of 'b' and 'c' is open by {gap * 1000:.3g} mm" in result.message()
        with pytest.raises(poise.NotReachedError, match="loops open"):
            result.require()
        assert poise.solve(rest(fourbar(loops=False)), Position("tip", OPEN)).reached
        assert poise.solve(rest(fourbar()), Position("tip", OPEN)).reached  # the engine holds the loop

    def test_a_pose_that_keeps_it_closed_is(self):
        s = fourbar()
        closed = poise.Pose(s, [0.4, -0.4, 0.4])
        result = poise.solve(closed, Position("tip", OPEN))
        assert result.reached
        assert result.open_loops() == ()
        assert poise.solve(rest(s), Position("tip", rest(s).world["tip"].positions)).reached

    def test_a_loop_that_the_start_leaves_open_is_reported_as(self):
        s = fourbar()
        start = poise.Pose(s, [0.0, 0.0, 0.5])
        result = solve_blindly(start, Position("tip", start.world["tip"].positions))
        assert result.status is Status.loops_open
        assert "(at the start by " in result.message()

    def test_goals_that_are_missed_keep_their_reason(self):
        result = solve_blindly(rest(fourbar()), Position("tip", [5, 0, 0]))
        assert result.status is Status.out_of_reach
        assert "; the loop 'loop' of 'b' and 'c' is open by " in result.message()

    def test_each_row_of_a_batch_by_itself_in_every_form(self):
        s = fourbar()
        start = rest(s)
        targets = np.array([rest(s).world["tip"].positions, OPEN, [5, 0, 0]])
        codes = [Status.reached, Status.loops_open, Status.out_of_reach]
        blind = {"solver": Blind()}
        many = poise.solve(start, Position("tip", targets), **blind)
        assert many.codes.tolist() == codes
        prepared = poise.prepare(start, Position("tip", targets[0]), **blind)
        assert [int(prepared(target).codes) for target in targets] == codes
        assert [int(poise.solve(start, Position("tip", target), **blind).codes) for target in targets] == codes
        np.testing.assert_array_equal(prepared(targets).codes, many.codes)
        follow = poise.Tracker(start, Position("tip", targets[0]), **blind)
        assert [int(follow(target).codes) for target in targets] == codes
        slow = poise.Tracker(start, Position("tip", targets[0]), speed=50.0, **blind)
        for _ in range(60):
            shown = slow(targets[1])
        assert shown.status is Status.loops_open

    def test_a_loop_is_kept_like_a_limit_whatever_the_tolerance_of_the_goals(self):
        s = fourbar()
        assert solve_blindly(rest(s), Position("tip", OPEN), tolerance=0.05).status is Status.loops_open
        for lean, is_reached in ((1e-9, True), (1e-8, False)):  # of the rocker: it opens by 0.2 of that
            start = poise.Pose(s, [0.0, 0.0, lean])
            at_tip = Position("tip", start.world["tip"].positions)
            assert solve_blindly(start, at_tip).reached is is_reached

    @pytest.mark.parametrize(
        ("holds", "distance", "angle"),
        [
            (("point",), 0.5, 0.0), (("line",), 0.3, 0.0), (("turn",), 0.0, 0.9), (("axis",), 0.0, 0.9),
            (("point", "turn"), 0.5, 0.9), (("line", "axis"), 0.3, 0.9),
        ],
    )  # fmt: skip
    def test_what_a_loop_holds(self, holds, distance, angle):
        """Along the axis z by 0.4, across by 0.3, turned about x by 0.9."""
        s = poise.Skeleton.build(
            ["base", "slide", "across", "turn"], [-1, 0, 1, 2], [0, 2, 2, 1],
            axes=[(0, 0, 1), (0, 0, 1), (0, 1, 0), (1, 0, 0)],
            loops=(Loop("base", "turn", rotation=None if holds in (("point",), ("line",)) else NONE, holds=holds),),
        )  # fmt: skip
        pose = poise.Pose(s, [0.4, 0.3, 0.9])
        (left,) = solve_blindly(pose, Position("turn", [0, 0.3, 0.4])).open_loops()
        assert (left.distance, left.angle) == pytest.approx((distance, angle))


class TestMethods:
    @pytest.mark.parametrize("name", ["ccd", "fabrik", "two_bone", "autodiff"])
    def test_those_that_go_joint_by_joint_refuse_with_the_way_out(self, name):
        start = rest(fourbar())
        with pytest.raises(poise.UnsupportedError) as refused:
            poise.solve(start, Position("tip", OPEN), solver=name)
        assert "the closed loop 'loop' of 'b' and 'c'; solver='auto' takes the engine" in str(refused.value)
        if name != "autodiff":  # a loop beside what moves is none of theirs
            beside = fourbar().with_loops([Loop("base", "c", (0.4, 0, 0))])
            assert poise.solve(rest(beside), Position("tip", OPEN), solver=name).reached

    def test_the_default_takes_the_engine(self):
        assert poise.solve(rest(fourbar()), Position("tip", OPEN)).solver == "levenberg_marquardt"
        assert poise.solve(rest(fourbar(loops=False)), Position("tip", OPEN)).solver == "two_bone"
        figure = poise.load(poise.samples.path("humanoid.glb")).rest
        tied = figure.skeleton.with_loops([Loop("LeftHand", "Spine")])
        start, goal = poise.Pose(tied, tied.rest_q), Position("LeftHand", [0.3, 1.3, 0.3])
        assert not poise.solve(start, goal).natural
        with pytest.raises(poise.UnsupportedError, match="joints of closed loops"):
            poise.solve(start, goal, natural=True)
        with pytest.raises(poise.UnsupportedError, match="closed loop 'LeftHand-Spine'"):
            poise.solve(start, goal, solver="ccd")


class TestRoundedFiles:
    """A file whose digits are rounded leaves its loops open at rest: that gap is no fault of a pose."""

    @staticmethod
    def rounded(by, turn=0.0):
        other = (np.cos(turn / 2), np.sin(turn / 2), 0.0, 0.0)
        tie = Loop("b", "c", (0.4 + by, 0, 0), (0, 0, 0.2), other, name="loop")
        return dataclasses.replace(fourbar(), loops=(tie,))

    @pytest.mark.parametrize(("by", "turn"), [(1e-5, 0.0), (0.0, 5e-5), (1e-5, 5e-5)])
    def test_a_gap_of_rounding_is_closed_in_every_form(self, by, turn):
        s = self.rounded(by, turn)
        at = rest(s).world["tip"].positions
        assert poise.solve(rest(s), Position("tip", at)).reached
        assert poise.solve(rest(s), Position("tip", [at, at])).reached.all()
        assert poise.prepare(rest(s), Position("tip", at))(at).reached
        assert poise.Tracker(rest(s), Position("tip", at), speed=1.0)(at).reached
        clip = poise.Clip(np.arange(2) / 30, poise.Pose(s, np.zeros((2, s.nq))), "still")
        assert poise.bake(clip, Position("tip", [at, at])).result.reached.all()
        assert poise.solve(rest(s), Position("tip", at)).open_loops() == ()
        opened = solve_blindly(rest(s), Position("tip", OPEN))
        assert opened.status is Status.loops_open
        assert opened.open_loops()[0].distance == pytest.approx(0.0795, abs=1e-3)

    @pytest.mark.parametrize(("by", "turn", "size"), [(1e-3, 0.0, "1 mm"), (0.0, 1e-3, "0.001 rad")])
    def test_a_gap_of_more_than_rounding_is_open(self, by, turn, size):
        s = self.rounded(by, turn)
        result = solve_blindly(rest(s), Position("tip", rest(s).world["tip"].positions))
        assert result.status is Status.loops_open
        assert f"is open by {size} (at the start by {size})" in result.message()

    def test_a_gap_beyond_that_of_the_file_is_open(self):
        s = self.rounded(1e-5)
        start = poise.Pose(s, [0.0, 0.0, 2e-4])  # 0.04 mm more
        result = solve_blindly(start, Position("tip", start.world["tip"].positions))
        assert result.status is Status.loops_open


class TestData:
    def test_it_is_carried_by_whatever_makes_a_skeleton_of_another(self):
        s = fourbar()
        for other in (
            pickle.loads(pickle.dumps(s)),  # noqa: S301
            s.with_limits({"a": poise.Range(-1, 1)}),
            s.with_free_root(),
            s.with_free_root().without_free_root,
        ):
            assert other.loops == s.loops
        assert s != fourbar(loops=False)
        free = s.with_free_root()
        away = poise.Pose(free, [2, 1, 1, 0.6, 0.8, 0, 0, 0.4, -0.4, 0.4])
        assert poise.solve(away, Position("tip", away.world["tip"].positions)).reached

    def test_other_units_and_axes(self):
        rig = poise.Rig(fourbar(), poise.Pose(fourbar(), [0.4, -0.4, 0.5]))
        before = solve_blindly(rig.pose, Position("tip", OPEN)).open_loops()[0].distance
        turn = rotations.about(np.array([1.0, 0, 0]), -np.pi / 2)
        other = change_units(rig, UnitChange(100.0, turn, "y", 0.01))
        at = other.pose.world["tip"].positions
        after = solve_blindly(other.pose, Position("tip", at)).open_loops()[0].distance
        assert after == pytest.approx(100 * before)
        to_base = Loop("base", "tip", (0.4, 0, 0.2), rotation=NONE)
        held = poise.Skeleton.build(["base", "a", "tip"], [-1, 0, 1], [0, 1, 0],
                                    offsets=[(0, 0, 0), (0, 0, 0.2), (0.4, 0, 0)], axes=[(0, 1, 0)] * 3,
                                    loops=(to_base,))  # fmt: skip
        still = change_units(poise.Rig(held, rest(held)), UnitChange(100.0, turn, "y", 0.01))
        assert poise.solve(still.rest, Position("tip", still.rest.world["tip"].positions)).reached

    def test_one_tree_of_several_keeps_its_own(self):
        both = poise.Skeleton.build(
            ["a", "b", "x", "y"], [-1, 0, -1, 2], [1, 1, 1, 1], axes=[(0, 0, 1)] * 4,
            loops=(
                Loop("a", "b", name="inside"),
                Loop("a", "y", name="across"),
            ),
        )  # fmt: skip
        part, _ = keep_one_root(poise.Rig(both, rest(both)), "a", needs_one_root=True)
        assert [loop.name for loop in part.skeleton.loops] == ["inside"]

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: Loop("a", "b", holds=("knot",)), "holds one or more of point, line"),
            (lambda: Loop("a", "b", (0, 0)), "point_a of a loop has 3 numbers"),
            (lambda: Loop("a", "b", (0, 0, np.nan)), "point_a of a loop"),
            (lambda: Loop("a", "b", rotation=(0, 0, 0)), "rotation of a loop has 4 numbers"),
            (lambda: Loop("a", "b", rotation=(0, 0, 0, 0)), "length zero"),
            (lambda: Loop("a", "b", holds=("point", "turn")), "needs a rotation"),
            (lambda: Loop("a", "b", rotation=NONE, holds=("point",)), "any other takes none"),
            (lambda: Loop("a", "a"), "both ends of this one are 'a'"),
            (lambda: Loop("a", 3), "the joint b of a loop"),
            (lambda: fourbar().with_loops([Loop("a", "b"), Loop("a", "b", (1, 0, 0))]), "different names, not a-b"),
            (lambda: fourbar().with_loops([Loop("a", "link")]), "both ends of this one are 'a'"),
            (lambda: dataclasses.replace(fourbar(), loops=[Loop("a", "link")]), "both are the same joint"),
            (lambda: fourbar().with_loops(Loop("a", "b")), "the loops of a skeleton"),
            (lambda: fourbar().with_loops(["a"]), "each loop of a skeleton"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_a_loop(self, make, words):
        with pytest.raises(poise.InputError, match=words):
            make()

    def test_an_unknown_joint_is_refused_with_those_that_exist(self):
        with pytest.raises(poise.UnknownNameError, match="no joint 'z'; joints: base, a, b, tip, c, link"):
            fourbar().with_loops([Loop("a", "z")])
        with pytest.raises(poise.UnknownNameError, match="no joint 'z'"):
            dataclasses.replace(fourbar(), loops=(Loop("z", "a"),))

    def test_by_hand_by_alias_and_by_role(self):
        s = fourbar(loops=False).with_loops(fourbar().loops)
        assert s == fourbar()
        assert s.with_loops(()).loops == ()
        (loop,) = s.with_loops([Loop("link", "c")]).loops
        assert (loop.joints, loop.name) == (("a", "c"), "a-c")
        figure = poise.load(poise.samples.path("humanoid.glb")).skeleton
        assert figure.with_loops([Loop("leftHand", "rightHand")]).loops[0].joints == ("LeftHand", "RightHand")

    def test_values_are_kept_bit_for_bit(self):
        loop = Loop("a", "b", (1, 2, 3), rotation=[0.5, 0.5, 0.5, 0.5])
        assert dataclasses.replace(loop, name="other") == Loop("a", "b", (1, 2, 3), rotation=(0.5,) * 4, name="other")
        assert Loop("a", "b", rotation=(2, 0, 0, 0)).rotation == NONE
        assert hash(loop) == hash(dataclasses.replace(loop))


class TestGaps:
    def test_a_batch_has_the_bits_of_each_pose(self):
        s = fourbar().with_loops(
            [*fourbar().loops, Loop("base", "tip", rotation=NONE, holds=("line", "axis"), axis=(1, 0, 0))]
        )
        q = np.random.default_rng(4).uniform(-1, 1, (6, 3))
        gaps = compute_gaps(s, q.reshape(2, 3, 3))
        assert gaps.distances.shape == gaps.angles.shape == (2, 3, 2)
        for row, distances, angles in zip(q, gaps.distances.reshape(6, 2), gaps.angles.reshape(6, 2), strict=True):
            np.testing.assert_array_equal(compute_gaps(s, row), (distances, angles))
        assert compute_gaps(s, s.rest_q).distances[0] == pytest.approx(0.0, abs=1e-15)
        assert compute_gaps(fourbar(loops=False), q).distances.shape == (6, 0)

    def test_translations_and_scales_of_a_pose_count(self):
        s = fourbar()
        moved = np.array(s.A[:, :3])
        moved[3] = (0.5, 0, 0)
        moved[4] = (0.4, 0, 0.1)
        pose = poise.Pose(s, s.rest_q, translations=moved, scales=np.full((5, 3), 1.0))
        assert compute_pose_gaps(pose).distances[0] == pytest.approx(0.1)

    def test_the_joints_of_a_ring(self):
        """Only joints between the two ends open a loop, and those that follow one of them."""
        s = fourbar()
        assert [s.names[row] for row in list_ring_rows(s, s.loops[0])] == ["a", "b", "c"]
        assert find_touched_loops(s, [s.index("c")]) == (0,)
        assert find_touched_loops(s, [s.index("tip"), s.index("base")]) == ()
        inner = s.with_loops([Loop("a", "tip")])
        assert find_touched_loops(inner, [s.index("a")]) == ()
        follower = poise.Skeleton.build(
            ["base", "lead", "far"], [-1, 0, 0], [0, 1, 1], axes=[(0, 0, 1)] * 3,
            couplings=[None, None, poise.Coupling(1, -1.0, 0.0)], loops=[Loop("base", "far")],
        )  # fmt: skip
        assert find_touched_loops(follower, [1]) == (0,)


BAR = """<mujoco><compiler angle="radian"/><worldbody><body name="base">
 <body name="crank"><joint name="a" axis="0 1 0" pos="0 0 0.0" range="-3 3"/><geom size=".01" mass="1"/>
  <body name="coupler" pos="0 0 0.2"><joint name="b" axis="0 1 0" range="-3 3"/><geom size=".01" mass="1"/>
   <site name="tip" pos="0.4 0 0"/></body></body>
 <body name="rocker" pos="0.4 0 0"><joint name="c" axis="0 1 0" range="-3 3"/><geom size=".01" mass="1"/>
  <site name="rtip" pos="0 0 0.2"/></body></body>
 <body name="hand" mocap="true"><geom size=".01"/></body>
</worldbody><equality>%s</equality></mujoco>"""


class TestModels:
    """The models of tests/loop_models.py: closed at rest, and elsewhere open by what MuJoCo says."""

    @pytest.mark.parametrize("name", loop_models.MODELS)
    def test_gaps_are_those_of_mujoco(self, name, tmp_path):
        mujoco = pytest.importorskip("mujoco")
        text = loop_models.MODELS[name]()
        (tmp_path / "model.xml").write_text(text)
        skeleton = poise.load(tmp_path / "model.xml").skeleton
        assert compute_gaps(skeleton, skeleton.rest_q).distances.max() < 1e-15
        batch = poise.Pose(skeleton, skeleton.rest_q + np.random.default_rng(3).normal(0, 0.3, (50, skeleton.nq))).q
        alone = np.array([compute_gaps(skeleton, q).distances for q in batch])
        np.testing.assert_array_equal(compute_gaps(skeleton, batch).distances, alone)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        random = np.random.default_rng(5)
        for _ in range(5):
            q = poise.Pose(skeleton, skeleton.legal(skeleton.rest_q + random.normal(0, 0.2, skeleton.nq))[0]).q
            data.qpos[:] = q
            mujoco.mj_forward(model, data)
            residuals = data.efc_pos[data.efc_type == 0].reshape(-1, 3)
            gaps = np.linalg.norm(residuals, axis=1)
            np.testing.assert_allclose(compute_gaps(skeleton, q).distances, gaps, rtol=0, atol=1e-12)
            assert gaps.min() > 1e-4

    def test_the_four_bar_of_its_closed_form_is_closed_on_both_branches(self, tmp_path):
        pytest.importorskip("mujoco")
        (tmp_path / "four_bar.xml").write_text(loop_models.four_bar())
        skeleton = poise.load(tmp_path / "four_bar.xml").skeleton
        for side in (1.0, -1.0):
            q = np.array([loop_models.four_bar_q(angle, side=side) for angle in np.linspace(-3, 3, 40)])
            assert compute_gaps(skeleton, q).distances.max() < 1e-14
            start = poise.Pose(skeleton, q[7])
            tip = Position("tip", start.world["tip"].positions)
            assert poise.solve(start, tip).reached
        assert np.abs(loop_models.four_bar_q(loop_models.FOUR_BAR_REST)).max() < 1e-14

    @pytest.mark.parametrize("platform", ["slides", "free"])
    def test_the_legs_of_the_platform_by_formula(self, platform, tmp_path):
        pytest.importorskip("mujoco")
        (tmp_path / "stewart.xml").write_text(loop_models.stewart(platform))
        skeleton = poise.load(tmp_path / "stewart.xml").skeleton
        turn = poise.rotations.normalise([1, 0.1, -0.2, 0.15])
        q = loop_models.stewart_q([0.05, -0.03, 0.08], turn)
        if platform == "free":  # its place in the world
            q[2] += loop_models.STEWART_HEIGHT
        assert compute_gaps(skeleton, q).distances.max() < 1e-14

    def test_the_rods_of_the_leg_have_their_lengths(self):
        _, _, achilles, plantar = loop_models.leg_rest()
        assert np.linalg.norm(achilles) == pytest.approx(loop_models.ACHILLES_LENGTH, abs=1e-12)
        assert np.linalg.norm(plantar) == pytest.approx(loop_models.PLANTAR_LENGTH, abs=1e-12)


class TestMjcf:
    @pytest.fixture
    def read(self, tmp_path):
        pytest.importorskip("mujoco")

        def reader(equality):
            (tmp_path / "bar.xml").write_text(BAR % equality)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", poise.PoiseWarning)  # notes
                return poise.load(tmp_path / "bar.xml")

        return reader

    @pytest.mark.parametrize(
        ("equality", "angle"),
        [
            ('<connect name="loop" body1="coupler" body2="rocker" anchor="0.4 0 0"/>', None),
            ('<connect body1="rocker" body2="coupler" anchor="0 0 0.2"/>', None),
            ('<connect site1="tip" site2="rtip"/>', None),
            ('<weld body1="coupler" body2="rocker" anchor="0 0 0.2"/>', 1),
            ('<weld site1="tip" site2="rtip"/>', 1),
        ],
    )
    def test_every_form_says_what_mujoco_says(self, read, equality, angle):
        """At rest the loop is closed; elsewhere its gap is the constraint's own residual."""
        rig = read(equality)
        (loop,) = rig.skeleton.loops
        assert (loop.rotation is not None) == bool(angle)
        assert poise.solve(rig.rest, Position("tip", rig.rest.world["tip"].positions)).reached
        import mujoco

        model = mujoco.MjModel.from_xml_string(BAR % equality)
        data = mujoco.MjData(model)
        data.qpos[:] = [0.3, -0.2, 0.5]
        mujoco.mj_forward(model, data)
        pose = poise.Pose(rig.skeleton, data.qpos)
        (left,) = solve_blindly(pose, Position("tip", pose.world["tip"].positions)).open_loops()
        residual = data.efc_pos[np.flatnonzero(data.efc_type == 0)]
        assert left.distance == pytest.approx(np.linalg.norm(residual[:3]), abs=1e-9)
        assert left.angle == pytest.approx(0.4 if angle else 0.0, abs=1e-9)

    def test_a_weld_to_the_world_is_a_tie_to_its_row(self, read):
        rig = read('<weld body1="rocker"/><connect body1="coupler" anchor="0.4 0 0"/>')
        weld, connect = rig.skeleton.loops
        assert (weld.joints, connect.joints) == (("c", "world"), ("b", "world"))
        assert connect.point_b == (0.4, 0, 0.2)
        gaps = compute_gaps(rig.skeleton, [0.0, 0.0, 0.3])
        assert gaps.angles[0] == pytest.approx(0.3)
        assert gaps.distances.tolist() == pytest.approx([0.8 * np.sin(0.15), 0.0], abs=1e-12)  # anchor: the origin
        away = rig.skeleton.with_free_root("world")  # the anchors go with the base
        moved = compute_gaps(away, [1.0, 2.0, 3.0, 0.6, 0.8, 0.0, 0.0, *rig.skeleton.rest_q])
        assert moved.distances.max() < 1e-12
        assert moved.angles.max() < 1e-12

    def test_torquescale_weighs_a_simulation_only(self, read):
        weld = '<weld name="w" body1="coupler" body2="rocker" anchor="0 0 0.2" torquescale="%s"/>'
        plain, weighed, points = (read(weld % scale) for scale in (1, 0.5, 0))
        assert not any("torquescale" in note for note in plain.notes)
        assert weighed.skeleton.loops == plain.skeleton.loops
        assert any("torquescale of the loop w (<weld>) is ignored" in note for note in weighed.notes)
        assert points.skeleton.loops[0].rotation is None
        assert any("has torquescale 0: it holds the points only" in note for note in points.notes)

    def test_a_default_class_can_switch_loops_off(self, tmp_path):
        text = BAR.replace(
            "<worldbody>", '<default><default class="off"><equality active="false"/></default></default><worldbody>'
        )
        loop = '<connect name="%s" class="%s" body1="coupler" body2="rocker" anchor="0.4 0 0"/>'
        (tmp_path / "bar.xml").write_text(text % (loop % ("one", "off") + loop % ("two", "main")))
        with pytest.warns(poise.PoiseWarning, match="the loop one .<connect>. is not active"):
            rig = poise.load(tmp_path / "bar.xml")
        assert [loop.name for loop in rig.skeleton.loops] == ["two"]

    def test_loops_that_do_not_hold_are_notes(self, read):
        rig = read('<connect name="off" body1="coupler" body2="rocker" anchor="0.4 0 0" active="false"/>'
                   '<weld name="drag" body1="hand" body2="rocker"/>')  # fmt: skip
        assert rig.skeleton.loops == ()
        assert any("the loop off (<connect>) is not active" in note for note in rig.notes)
        assert any("the loop drag (<weld>) follows a mocap body" in note for note in rig.notes)

    def test_a_loop_of_a_body_that_is_left_out_does_not_refuse_the_file(self, read):
        rig = read('<connect body1="coupler" body2="B0_1" anchor="0 0 0"/>')
        assert rig.skeleton.loops == ()
        assert any("loops (<connect>, <weld>) are not read" in note for note in rig.notes)

    def test_the_command_line_and_other_formats(self, read, tmp_path):
        rig = read('<connect name="loop" body1="coupler" body2="rocker" anchor="0.4 0 0"/>')
        target = [f"{value:g}" for value in OPEN]
        done = run("solve", "bar.xml", "--joint", "tip", "--to", *target, "--json", cwd=tmp_path)
        assert done.returncode == 0
        reported = json.loads(done.stdout)
        assert reported["status"] == "reached"
        assert reported["open_loops"] == []
        saved = run("solve", "bar.xml", "--joint", "tip", "--to", *target, "-o", "bar_posed.glb", cwd=tmp_path)
        assert "glTF has no closed loops; lost are: loop" in saved.stderr
        info = run("info", "bar.xml", cwd=tmp_path)
        assert "closed loops (1):\n  loop: b (0.4 0 0) and c (0 0 0.2) hold point; at rest 0 apart" in info.stdout
        (listed,) = json.loads(run("info", "bar.xml", "--json", cwd=tmp_path).stdout)["loops"]
        assert (listed["a"], listed["b"], listed["point_a"], listed["rotation"]) == ("b", "c", [0.4, 0, 0], None)
        assert listed["rest_gap"] == {"distance": pytest.approx(0, abs=1e-12), "angle": 0.0}
        converted = poise.convert(rig.path, tmp_path / "bar.glb")
        assert "1 closed loop, which other readers leave open: loop" in converted.lost
        with pytest.warns(poise.PoiseWarning, match="glTF has no closed loops; lost are: loop"):
            poise.save(rig, tmp_path / "again.glb")

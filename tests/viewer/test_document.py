"""The document: a value whose modes decide which limits count, and that begins as its file does."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import poise
from poise import EulerBox, Kind, Range, SwingTwist
from poise.io import samples
from poise.viewer.document.document import Document, SolverChoice, build_document
from poise.viewer.document.program_widgets import HandleState

MIXED = poise.Skeleton.build(
    ["free", "ball", "hinged", "cone", "box", "hinge", "slide", "fixed"],
    range(-1, 7),
    [4, 3, 3, 3, 3, 1, 2, 0],
    offsets=[(0, 1, 0)] * 8,
    axes=[(0, 0, 1)] * 8,
    limits=[
        None, None, Range(-0.5, 0.5, axis=(1, 0, 0)), SwingTwist((0, 1, 0), 0.4, (-0.1, 0.1)),
        EulerBox("XYZ", x=(-0.1, 0.1), y=(-0.2, 0.2), z=(-0.3, 0.3)), Range(-1, 1), Range(-0.2, 0.2), None,
    ],
)  # fmt: skip


@pytest.fixture
def mixed():
    q = np.random.default_rng(3).normal(size=MIXED.nq)
    pose = poise.Pose(MIXED, MIXED.legal(q)[0])
    return build_document(poise.Rig(MIXED, pose), chains=())


class TestModes:
    def test_limits_keeps_them_all(self, mixed):
        assert mixed.solver_skeleton is mixed.skeleton

    def test_hinge_keeps_axes_and_slides(self, mixed):
        limits = dict(zip(MIXED.names, mixed.replace(limit_mode="hinge").solver_skeleton.limits, strict=True))
        hinged = limits["hinged"]
        assert (hinged.low, hinged.high, hinged.axis) == (-math.inf, math.inf, (1.0, 0.0, 0.0))
        assert limits["slide"] == Range(-0.2, 0.2)
        assert {name for name, limit in limits.items() if limit is not None} == {"hinged", "slide"}

    def test_plain_keeps_the_ends_of_slides_only(self, mixed):
        limits = mixed.replace(limit_mode="plain").solver_skeleton.limits
        assert [limit for limit in limits if limit is not None] == [Range(-0.2, 0.2)]

    def test_nothing_else_of_the_skeleton_changes(self, mixed):
        for mode in ("hinge", "plain"):
            working = mixed.replace(limit_mode=mode).solver_skeleton
            assert dataclasses.replace(working, limits=MIXED.limits) == MIXED

    def test_they_are_made_once(self, mixed):
        """Packed solvers are remembered on the skeleton."""
        for mode in ("hinge", "plain", "limits"):
            assert (
                mixed.replace(limit_mode=mode).solver_skeleton
                is mixed.replace(limit_mode=mode, view_count=2).solver_skeleton
            )

    def test_the_start_is_inside_the_limits_that_count(self, mixed):
        wild = poise.Pose(MIXED, np.random.default_rng(1).normal(size=MIXED.nq))
        document = mixed.replace(start=wild)
        for mode in ("limits", "hinge", "plain"):
            now = document.replace(limit_mode=mode)
            assert now.solver_start.skeleton is now.solver_skeleton
            assert now.solver_skeleton.legal(now.solver_start.q)[1] == ()
            assert now.solver_start is now.replace(view_count=2).solver_start
        ball = MIXED.q_slice("ball")
        given = wild.q[ball] / np.linalg.norm(wild.q[ball])
        np.testing.assert_allclose(document.replace(limit_mode="plain").solver_start.q[ball], given, atol=1e-12)

    def test_where_they_make_no_difference_they_say_why(self):
        def modes(kinds, limits):
            skeleton = poise.Skeleton.build(["a", "b"], [-1, 0], kinds, axes=[(0, 0, 1)] * 2, limits=limits)
            return build_document(
                poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)), chains=()
            ).list_limit_modes()

        assert modes([3, 3], None)["hinge"].startswith("no joint has a hinge axis")
        assert modes([3, 3], None)["limits"].startswith("no joint has limits")
        assert modes([3, 1], None)["hinge"] is None
        assert modes([3, 3], [Range(-1, 1, axis=(0, 0, 1)), None]) == {"plain": None, "hinge": None, "limits": None}
        assert modes([3, 3], [SwingTwist((0, 0, 1), 1.0), None])["hinge"] is not None


class TestBeginning:
    def test_a_figure_opens_as_a_whole_body(self):
        rig = poise.load(samples.path("humanoid.glb"))
        document = build_document(rig)
        assert (document.scope, document.free_root, document.skeleton) == ("body", True, rig.skeleton)
        assert [(chain.kind, chain.tip, chain.enabled) for chain in document.chains] == [
            ("pin", "LeftFoot", True), ("pin", "RightFoot", True), ("look", "Head", False),
        ]  # fmt: skip
        feet = [row for row, name in enumerate(rig.skeleton.names) if name.endswith(("Foot", "Toe"))]
        assert document.floor_height == pytest.approx(rig.pose.world.positions[feet, 1].min())

    def test_a_rig_is_shown_as_its_file_has_it(self):
        rig = poise.load(samples.path("humanoid.glb"))
        document = build_document(rig, scope="limbs")
        assert document.floor_height is None
        assert document.name == "humanoid.glb"
        assert document.start is rig.pose
        assert document.skeleton is rig.skeleton
        assert [chain.name for chain in document.chains] == ["left_arm", "right_arm", "left_leg", "right_leg"]
        assert (document.limit_mode, document.pace, document.solve_start, document.view_count) == (
            "limits",
            "live",
            "last",
            1,
        )

    def test_a_rig_without_a_file(self):
        rig = poise.Rig(MIXED, poise.Pose(MIXED, MIXED.rest_q))
        assert build_document(rig).name == "rig"
        assert build_document(rig, name="mine").name == "mine"

    def test_a_pose_and_chains_may_be_given(self):
        rig = poise.load(samples.path("humanoid.glb"))
        raised = rig.pose.replace({"LeftArm": [0.9238795, 0, 0, 0.3826834]})
        document = build_document(rig, pose=raised, chains=(), view_count=2)
        assert document.start is raised
        assert document.chains == ()
        assert document.view_count == 2

    def test_a_batch_is_refused(self):
        rig = poise.load(samples.path("humanoid.glb"))
        with pytest.raises(poise.InputError, match="single pose, not a batch"):
            build_document(rig, pose=poise.Pose(rig.skeleton, np.repeat(rig.pose.q[None], 2, axis=0)))


class TestValues:
    def test_it_cannot_be_written_to(self, mixed):
        with pytest.raises(dataclasses.FrozenInstanceError):
            mixed.view_count = 2
        assert mixed.replace(view_count=2).view_count == 2
        assert mixed.view_count == 1

    def test_an_unknown_chain_lists_what_there_is(self):
        document = build_document(poise.load(samples.path("humanoid.glb")), scope="limbs")
        with pytest.raises(poise.UnknownNameError, match="left_arm"):
            document.find_chain("left_amr")
        off = document.with_chain(document.find_chain("left_arm").replace(enabled=False))
        assert [chain.name for chain in off.active_chains] == ["right_arm", "left_leg", "right_leg"]
        assert [chain.name for chain in off.chains] == [chain.name for chain in document.chains]

    def test_what_it_is_made_of_is_listed(self):
        """A new field needs a line here, in `same` of watcher.py, and in undo."""
        assert {field.name for field in dataclasses.fields(Document)} == {
            "rig", "name", "skeleton", "start", "chains", "solvers", "view_count", "limit_mode", "pace", "solve_start",
            "tolerance", "free_root", "scope", "pulled", "pull_share", "character_positions", "clip_name", "keys",
            "plants_feet", "terrain_spec", "handles", "is_driven", "idles", "scene_name", "package_folders", "controls",
            "marks", "retargeting",
        }  # fmt: skip

    def test_same_means_that_nothing_differs(self, mixed):
        assert mixed.is_same(mixed.replace())
        assert mixed.is_same(mixed.replace(chains=(), view_count=1))
        for change in (
            {"view_count": 2},
            {"limit_mode": "plain"},
            {"tolerance": 0.1},
            {"handles": (HandleState("a", (0, 0, 0)),)},
        ):
            assert not mixed.is_same(mixed.replace(**change))
        assert not mixed.is_same(mixed.replace(start=poise.Pose(MIXED, MIXED.rest_q)))


class TestChoices:
    def test_auto_is_a_word(self):
        assert SolverChoice().build_solver() == "auto"

    def test_options_are_checked_by_the_solver(self):
        choice = SolverChoice("ccd").with_option("iterations", 7).with_option("order", "tip-first")
        assert choice.build_solver() == poise.solvers.make_solver("ccd", iterations=7, order="tip-first")
        assert choice.with_option("iterations", 9).options == (("order", "tip-first"), ("iterations", 9))
        with pytest.raises(poise.PoiseError):
            choice.with_option("iterations", -1)
        with pytest.raises(poise.UnknownNameError):
            SolverChoice("cdc").build_solver()

    def test_kinds_are_the_librarys(self):
        assert [Kind(int(kind)).name for kind in MIXED.kinds[5:]] == ["HINGE", "SLIDE", "FIXED"]

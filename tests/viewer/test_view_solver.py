"""One view's solver: what it finds is what poise.solve finds, live, iterated, chain after chain and in crowds."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import poise
from poise import solvers
from poise.io import samples
from poise.solvers.base.interface import Status
from poise.viewer import scenes
from poise.viewer.document.chains import build_chain
from poise.viewer.document.document import SolverChoice, build_document
from poise.viewer.protocol import STATUS_NOTHING, STATUS_REFUSED
from poise.viewer.view_solver import ViewSolver
from tests.strategies import figure, rng_of
from tests.viewer.action_cases import HAND, everything
from tests.viewer.watcher import is_sentence, refusal

SLOW = ("autodiff",)  # compiles for each kind of problem; one scene will do
PAIRS = [(name, scene) for name in solvers.names() for scene in scenes.names() if name not in SLOW or scene == "ccd"]
ITERATIVE = [name for name in solvers.names() if name != "two_bone"]
TOLERANCE = 1e-3  # [file units] of the scenes, metres; the library's own is finer


def solved(document, q=None):
    """Outcome of view A."""
    start = document.solver_start.q[None] if q is None else q
    return ViewSolver(document, document.solver_start, document.solvers[0])(document.active_chains, start)


def with_solver(document, name, **options):
    return document.replace(solvers=(SolverChoice(name, tuple(options.items())), SolverChoice()))


def goals_of(document):
    return [goal for chain in document.active_chains for goal in chain.build_goals(document.solver_skeleton)]


def one_at_a_time(name):
    handles = solvers.make_solver(name).handles
    return handles.one_joint or not handles.several


class TestEverySolver:
    @pytest.mark.parametrize(("name", "scene"), PAIRS)
    def test_on_a_scene_it_finds_what_solve_finds_or_says_why_not(self, name, scene):
        document = with_solver(scenes.build_scene(scene), name)
        document = document.replace(
            chains=(document.chains[0].replace(enabled=True),), character_positions=document.character_positions[:1]
        )
        outcome = solved(document)
        settings = {"solver": name, "tolerance": document.tolerance, "free_root": document.free_root}
        results = []
        sentence = refusal(lambda: results.append(poise.solve(document.solver_start, goals_of(document), **settings)))
        if sentence is not None:
            assert (outcome.status, outcome.sentence) == (STATUS_REFUSED, sentence)
            assert is_sentence(sentence)
            np.testing.assert_array_equal(outcome.q, document.solver_start.q[None])
            return
        (result,) = results
        np.testing.assert_array_equal(outcome.q[0], result.q)
        assert outcome.status == int(result.codes)
        assert outcome.iterations == int(result.iterations)
        assert outcome.solver == result.solver
        assert outcome.sentence.partition(",")[0] == result.message().partition(",")[0]
        if not np.isnan(result.position_errors).all():
            assert outcome.position_error == float(np.nanmax(result.position_errors))

    @pytest.mark.parametrize("scene", scenes.names())
    def test_auto_is_what_solve_chooses(self, scene):
        document = scenes.build_scene(scene)
        document = with_solver(document, "auto").replace(chains=(document.chains[0].replace(enabled=True),))
        document = document.replace(character_positions=document.character_positions[:1])
        result = poise.solve(document.solver_start, goals_of(document), free_root=document.free_root)
        np.testing.assert_array_equal(solved(document).q[0], result.q)

    @pytest.mark.parametrize("name", ["auto", "ccd"])
    def test_a_rig_that_shears_is_solved_like_others(self, name):
        whole = poise.load(samples.path("humanoid.glb")).skeleton
        scales = 1.0 + rng_of(1).uniform(0.0, 0.03, size=(len(whole), 1, 3))
        skeleton = dataclasses.replace(whole, B=np.concatenate([np.eye(3) * scales, whole.B[:, :, 3:]], axis=2))
        rig = poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q))
        chain = build_chain(rig.pose, "arm", "LeftArm", "LeftHand").replace(position=(0.4, 1.2, 0.35))
        outcome = solved(with_solver(build_document(rig, chains=(chain,)), name))
        assert outcome.status == Status.reached
        found = poise.Pose(skeleton, outcome.q[0]).world["LeftHand"].positions
        assert outcome.position_error == pytest.approx(np.linalg.norm(found - (0.4, 1.2, 0.35)), abs=1e-9)

    def test_options_reach_the_solver(self):
        document = scenes.build_scene("ccd")
        one = solved(with_solver(document, "ccd", iterations=1, restarts=0))
        assert (one.iterations, one.status) == (1, Status.stalled)
        assert solved(document).iterations > 1

    def test_so_do_tolerance_and_the_free_root(self):
        document = scenes.build_scene("biped")
        document = with_solver(document.replace(chains=document.chains[:1]), "levenberg_marquardt")
        first = document.solver_skeleton.q_slice("Hips").start
        hips = slice(first, first + 3)  # where they are; how they are turned is the chain's
        assert not np.array_equal(solved(document).q[0, hips], document.solver_start.q[hips])
        still = solved(document.replace(free_root=False))
        np.testing.assert_array_equal(still.q[0, hips], document.solver_start.q[hips])
        coarse = solved(document.replace(tolerance=0.2))
        fine = solved(document.replace(tolerance=1e-9))
        assert fine.position_error <= 1e-9 < coarse.position_error <= 0.2


class TestModes:
    def test_each_keeps_what_it_says(self):
        """The arm's hinges: free, on their axes, inside their ranges."""
        found = {}
        for name in ("ccd", "ccd_hinge", "ccd_hinge_range"):
            document = scenes.build_scene(name)
            outcome = solved(document)
            assert outcome.status == Status.reached
            assert document.solver_skeleton.legal(outcome.q[0])[1] == ()
            found[document.limit_mode] = outcome.q[0]
        plain = scenes.build_scene("ccd")
        assert plain.replace(limit_mode="hinge").solver_skeleton.legal(found["plain"])[1] != ()
        assert plain.replace(limit_mode="limits").solver_skeleton.legal(found["limits"])[1] == ()

    def test_limits_are_kept_where_they_are_in_the_way(self):
        document = scenes.build_scene("ccd_hinge")
        behind = document.with_chain(document.find_chain("arm").replace(position=(0.0, 0.15, -0.1)))
        for mode in ("hinge", "limits"):
            now = behind.replace(limit_mode=mode)
            assert now.solver_skeleton.legal(solved(now).q[0])[1] == ()


class TestSingleIterations:
    def test_a_step_says_how_far_it_is_and_not_that_it_stalled(self):
        document = with_solver(scenes.build_scene("ccd"), "ccd").replace(pace="step", tolerance=TOLERANCE)
        solving = ViewSolver(document, document.solver_start, document.solvers[0])
        first = solving(document.active_chains, document.solver_start.q[None])
        assert first.status == Status.on_the_way
        assert re.fullmatch(r"after 1 iteration: [\d.e-]+( m| mm)? left", first.sentence)
        q, outcome = first.q, first
        for _ in range(200):
            outcome = solving(document.active_chains, q)
            q = outcome.q
        assert outcome.status == Status.reached
        assert outcome.sentence.startswith("reached: ")

    @pytest.mark.parametrize("name", ITERATIVE)
    @pytest.mark.parametrize("run", ["iterate", "step"])
    def test_enough_of_them_converge_as_a_whole_solve_does(self, name, run):
        document = with_solver(scenes.build_scene("ccd"), name).replace(tolerance=TOLERANCE)
        live = solved(document)
        assert live.status == Status.reached
        stepped = document.replace(pace=run)
        solving = ViewSolver(stepped, stepped.solver_start, stepped.solvers[0])
        q, outcome, count = stepped.solver_start.q[None], None, 0
        while (outcome is None or outcome.status != Status.reached) and count < 2000:
            outcome = solving(stepped.active_chains, q)
            assert outcome.iterations <= 1 or name == "anneal"  # it has starts, not iterations
            q, count = outcome.q, count + 1
        assert outcome.position_error <= TOLERANCE
        assert live.position_error <= TOLERANCE
        assert count > 1 or name in ("anneal", "fabrik")

    def test_closed_forms_need_one(self):
        document = with_solver(everything(), "two_bone").replace(pace="iterate")
        document = document.with_chain(document.find_chain("left_arm").replace(position=tuple(HAND)))
        assert solved(document).status == Status.reached


class TestChainAfterChain:
    def reaching(self, name):
        """Both arms, and a leg, somewhere they can reach."""
        document = everything()
        pose = document.solver_start
        chains = tuple(
            build_chain(pose, tip, root, tip).replace(position=at)
            for root, tip, at in (
                ("LeftArm", "LeftHand", (0.45, 1.25, 0.3)),
                ("RightArm", "RightHand", (-0.4, 1.3, 0.3)),
                ("LeftUpLeg", "LeftFoot", (0.15, 0.3, 0.3)),
            )
        )
        return with_solver(document.replace(chains=chains), name)

    @pytest.mark.parametrize("name", [name for name in solvers.names() if name not in SLOW])
    def test_several_are_reached_by_every_solver(self, name):
        document = self.reaching(name)
        outcome = solved(document)
        assert outcome.status == Status.reached, outcome.sentence
        pose = document.solver_start.with_q(outcome.q[0])
        for chain in document.chains:
            np.testing.assert_allclose(pose.world[chain.tip].positions, chain.position, atol=2e-3)
        assert (outcome.note is not None) == one_at_a_time(name)

    @pytest.mark.parametrize("name", [name for name in solvers.names() if one_at_a_time(name)])
    def test_each_starts_where_the_one_before_ended(self, name):
        document = self.reaching(name)
        pose, iterations = document.solver_start, 0
        for chain in document.chains:
            result = poise.solve(pose, chain.build_goals(document.solver_skeleton), solver=name)
            pose, iterations = pose.with_q(result.q), iterations + int(result.iterations)
        outcome = solved(document)
        np.testing.assert_array_equal(outcome.q[0], pose.q)
        assert outcome.iterations == iterations

    def test_a_chain_that_a_method_cannot_take_is_left_out_and_reported(self):
        document = with_solver(scenes.build_scene("biped"), "ccd")
        outcome = solved(document)
        assert outcome.status == Status.reached, outcome.sentence
        assert outcome.left_out == (("head", refusal(lambda: poise.solve(
            document.solver_start, document.find_chain("head").build_goals(document.solver_skeleton),
            solver="ccd"))),)  # fmt: skip
        pose = document.solver_start.with_q(outcome.q[0])
        for chain in document.active_chains:
            if chain.kind != "look":
                np.testing.assert_allclose(pose.world[chain.tip].positions, chain.position, atol=1e-3)
        assert solved(with_solver(document, "auto")).left_out == ()

    def test_joints_that_chains_share_stay_still(self):
        """Hips that the hand would move carry the feet away."""
        document = with_solver(scenes.build_scene("biped"), "ccd")
        hips = document.solver_skeleton.q_slice("Hips")
        np.testing.assert_array_equal(solved(document).q[0, hips], document.solver_start.q[hips])
        alone = document.replace(chains=document.chains[:1])
        assert not np.array_equal(solved(alone).q[0, hips], document.solver_start.q[hips])

    def test_what_a_later_chain_takes_away_is_not_reached(self):
        """Two chains of the same joints, whose tips cannot both be there."""
        document = with_solver(everything(), "ccd")
        pose = document.solver_start
        hand = build_chain(pose, "hand", "LeftArm", "LeftHand").replace(position=(0.45, 1.25, 0.3))
        other = hand.replace(name="other", position=(0.2, 1.2, 0.35))
        outcome = solved(document.replace(chains=(hand, other)))
        apart = float(np.linalg.norm(np.subtract(hand.position, other.position)))
        assert outcome.status == Status.contradictory
        assert outcome.position_error == pytest.approx(apart, abs=2e-3)
        assert is_sentence(outcome.sentence)

    def test_of_several_the_worst_is_reported(self):
        document = self.reaching("ccd")
        document = document.with_chain(document.find_chain("RightHand").replace(position=(-3.0, 1.0, 0.0)))
        outcome = solved(document)
        assert outcome.status == Status.out_of_reach
        assert outcome.position_error > 1.0
        assert "out of reach" in outcome.sentence


class TestCrowds:
    @pytest.mark.parametrize("name", ["auto", "ccd", "levenberg_marquardt"])
    def test_everybody_reaches_the_same_place(self, name):
        document = with_solver(scenes.build_scene("crowd"), name)
        q = np.repeat(document.solver_start.q[None], len(document.character_positions), axis=0)
        outcome = solved(document, q)
        assert outcome.q.shape == q.shape
        assert outcome.status == Status.reached
        assert outcome.sentence.startswith("10 of 10 characters:")
        (chain,) = document.active_chains
        for place, row in zip(document.character_positions, outcome.q, strict=True):
            at = document.solver_start.with_q(row).world["LeftHand"].positions + place
            np.testing.assert_allclose(at, np.add(chain.position, document.character_positions[0]), atol=2e-3)

    def test_it_is_what_solve_finds_for_the_batch(self):
        document = with_solver(scenes.build_scene("crowd"), "levenberg_marquardt")
        q = np.repeat(document.solver_start.q[None], 10, axis=0)
        (chain,) = document.active_chains
        targets = np.array(chain.position) - (np.array(document.character_positions) - document.character_positions[0])
        (goal,) = chain.build_goals(document.solver_skeleton)
        result = poise.solve(
            poise.Pose(document.solver_skeleton, q), goal.with_target(targets), solver="levenberg_marquardt"
        )
        np.testing.assert_array_equal(solved(document, q).q, result.q)

    def test_those_who_cannot_are_counted(self):
        document = scenes.build_scene("crowd")
        far = document.replace(character_positions=(*document.character_positions[:2], (9.0, 0.0, 0.0)))
        outcome = solved(far, np.repeat(document.solver_start.q[None], 3, axis=0))
        assert outcome.status == Status.out_of_reach
        assert outcome.sentence.startswith("2 of 3 characters: ")
        assert is_sentence(outcome.sentence)


class TestRefusals:
    def test_what_cannot_be_solved_is_a_sentence(self):
        document = scenes.build_scene("five_axes")
        for name in ("fabrik", "two_bone"):
            outcome = solved(with_solver(document, name))
            assert outcome.status == STATUS_REFUSED
            assert is_sentence(outcome.sentence)
            assert not outcome.has_moved

    def test_a_pole_without_a_bend(self):
        skeleton = figure(free=False)
        pose = poise.Pose(skeleton, skeleton.rest_q)
        chain = build_chain(pose, "leg", "l_knee", "l_foot").replace(pole=(0.0, 0.0, 1.0))
        document = build_document(poise.Rig(skeleton, pose), chains=(chain,))
        outcome = solved(document)
        assert (outcome.status, "two joints or more" in outcome.sentence) == (STATUS_REFUSED, True)

    @pytest.mark.parametrize("position", [(1e12, 0.0, 0.0), (-1e12, 1e12, 1e12), (1e-300, 0.0, 0.0)])
    @pytest.mark.parametrize("name", ["ccd", "levenberg_marquardt", "fabrik", "two_bone"])
    def test_the_farthest_that_may_be_typed(self, name, position):
        document = with_solver(everything(), name)
        outcome = solved(document.with_chain(document.find_chain("left_arm").replace(position=position)))
        assert np.isfinite(outcome.q).all()
        assert is_sentence(outcome.sentence)
        assert outcome.status != STATUS_NOTHING


class TestCurves:
    @pytest.mark.parametrize("name", ["ccd", "fabrik", "levenberg_marquardt", "damped_least_squares"])
    def test_they_end_where_the_solve_ends(self, name):
        document = with_solver(scenes.build_scene("ccd"), name)
        solving = ViewSolver(document, document.solver_start, document.solvers[0])
        outcome = solving(document.active_chains, document.solver_start.q[None])
        curve = solving.compute_error_curve(document.active_chains, 0, outcome.start_q)
        start = document.solver_start.world["tip"].positions
        assert curve[0] == pytest.approx(np.linalg.norm(start - document.chains[0].position))
        assert curve[-1] == pytest.approx(outcome.position_error, abs=1e-9)
        assert len(curve) == outcome.iterations + 1

    def test_there_is_none_where_a_solver_refuses(self):
        document = with_solver(scenes.build_scene("five_axes"), "fabrik")
        solving = ViewSolver(document, document.solver_start, document.solvers[0])
        assert solving.compute_error_curve(document.active_chains, 0, document.solver_start.q[None]) is None

    def test_what_is_solved_together_has_one(self):
        """Of solvers that take one chain at a time each chain has its own."""
        for name, alike in (("levenberg_marquardt", True), ("ccd", False)):
            document = TestChainAfterChain().reaching(name)
            solving = ViewSolver(document, document.solver_start, document.solvers[0])
            start = solving(document.active_chains, document.solver_start.q[None]).start_q
            arm, leg = (solving.compute_error_curve(document.active_chains, watched, start) for watched in (0, 2))
            assert (arm == leg) == alike

"""A race of methods: what is shown is the trace of each solve, and its figures are those of compare()."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import solvers
from poise.comparison.live import LIVE_COLUMNS, LiveComparison
from poise.comparison.metrics import compute_smoothness
from poise.comparison.results import format_value
from poise.io import samples
from poise.viewer import scenes, view_solver
from poise.viewer.document.actions import ACTIONS
from poise.viewer.document.document import build_document
from poise.viewer.session.pose_state import PoseState
from poise.viewer.session.race import RaceClock, build_race
from tests.viewer.watcher import refusal, watched

NAMES = ("ccd", "fabrik", "jacobian_transpose", "levenberg_marquardt")


def shown_race(document):
    """The poses of a race whose clock somebody else turns."""
    stage = PoseState(document)
    stage.race.is_playing = False
    stage.compute_frame()
    return stage


def rows_of(stage, iteration):
    stage.race.seek(iteration)
    stage.request_frame()
    return stage.compute_frame()


class TestPoses:
    def test_each_view_shows_the_trace_of_its_solve(self):
        document = scenes.build_scene("race")
        stage = shown_race(document)
        goals = document.chains[0].build_goals(document.solver_skeleton)
        for view, choice in enumerate(document.solvers):
            result = poise.solve(document.solver_start, goals, solver=choice.name, trace=True)
            path = stage._outcomes[view].path
            np.testing.assert_array_equal(path.q[: len(result.trace.q)], result.trace.q)
            np.testing.assert_array_equal(path.q[-1], result.q)
            tips = result.problem.make_pose(path.q).world_of("tip").positions
            lengths = np.linalg.norm(tips - np.array(document.chains[0].position), axis=-1)
            np.testing.assert_allclose(path.errors, lengths, atol=1e-12)
            for iteration in (0, 1, 3, stage.race.last):
                rows_of(stage, iteration)
                np.testing.assert_array_equal(stage.displayed_q[view][0], path.q[min(iteration, path.last)])

    def test_frames_and_answers_tell_how_far_each_has_come(self):
        document = scenes.build_scene("race")
        stage = shown_race(document)
        frame = rows_of(stage, 2)
        assert frame.header.race_iteration == 2
        for view, status in enumerate(frame.header.view_statuses[:6]):
            path = stage._outcomes[view].path
            assert (status.iterations, status.position_error) == (2, path.errors[2])
        answer = stage.build_answer()
        assert answer["race"]["last"] == stage.race.last == max(len(view["errors"]) for view in answer["views"]) - 1
        assert answer["views"][0]["sentence"] == f"after 2 iterations of {stage._outcomes[0].path.last}"
        rows_of(stage, stage.race.last)
        assert [view["status"] for view in stage.build_answer()["views"]] == ["reached"] * 6

    def test_only_new_targets_are_solved_for(self):
        stage = shown_race(scenes.build_scene("race"))
        outcomes = list(stage._outcomes)
        rows_of(stage, 1)
        assert all(a is b for a, b in zip(outcomes, stage._outcomes, strict=True))
        document = stage.document
        stage.set_document(document.with_chain(document.chains[0].replace(position=(0.4, 0.8, 0.2))))
        stage.compute_frame()
        assert all(a is not b for a, b in zip(outcomes, stage._outcomes, strict=True))
        assert stage.race.iteration == 1  # a drag leaves the clock where it is


class TestClock:
    def test_it_plays_in_slow_motion_to_the_end_and_begins_again(self):
        clock = RaceClock(last=10, is_playing=True, speed=4.0)
        clock.advance(0.5)
        assert (clock.iteration, clock.is_playing) == (2.0, True)
        clock.advance(10.0)
        assert (clock.iteration, clock.is_playing) == (10.0, False)
        clock.set_last(25)
        assert clock.iteration == 25  # the end of the new solves
        clock.play(is_on=True)
        assert (clock.iteration, clock.is_playing) == (0.0, True)

    def test_steps_pause_it_and_stay_inside(self):
        clock = RaceClock(last=3, is_playing=True)
        for count, wanted in ((1, 1), (1, 2), (5, 3), (-1, 2), (-9, 0)):
            clock.step(count)
            assert (clock.iteration, clock.is_playing) == (wanted, False)


class TestFigures:
    def test_they_are_those_of_compare(self):
        """The same functions say the same of the same answers."""
        document = scenes.build_scene("two_methods")
        start, (chain,) = document.solver_start, document.chains
        (goal,) = chain.build_goals(start.skeleton)
        live = LiveComparison(start, goal, [solvers.make_solver(name) for name in NAMES])
        targets = np.array(chain.position) + np.linspace(0, 0.2, 15)[:, None] * np.array([-1.0, 0.5, 0.2])
        for target in targets:
            live.follow(target)
        for name, row in zip(NAMES, live.list_rows(), strict=True):
            figures = {column.key: value for column, value in zip(LIVE_COLUMNS, row.values, strict=True)}
            tracked, q = poise.prepare(start, goal, solver=name), [start.q]
            for target in targets:
                q.append(tracked(target, q[-1]).q)
            smooth = compute_smoothness(live.task, np.array(q[1:]))
            assert (figures["step"], figures["acceleration"], figures["jerk"]) == tuple(smooth)
            assert figures["solved_1"] == 100.0
            assert 1.0 < figures["call"] <= figures["call_p99"]

    def test_the_page_gets_them_in_the_words_of_compare(self):
        stage = shown_race(scenes.build_scene("race"))
        figures = stage.build_answer()["race"]
        assert [column["key"] for column in figures["columns"]] == [column.key for column in LIVE_COLUMNS]
        assert len(figures["rows"]) == 6
        solved = LIVE_COLUMNS[0]
        assert all(row["values"][0] == format_value(solved, 100.0) for row in figures["rows"])

    def test_without_a_single_goal_the_reason_is_told(self):
        document = scenes.build_scene("race")
        pole = document.replace(chains=(document.chains[0].replace(pole=(0.0, 1.0, 1.0)),))
        figures = shown_race(pole.replace(solvers=pole.solvers[3:5], view_count=2)).build_answer()["race"]
        assert (figures["rows"], figures["reason"]) == (
            [], "figures are measured for a position or a place, without a pole",
        )  # fmt: skip


class TestOpening:
    @pytest.mark.parametrize("file", ["humanoid.glb", "arm.urdf"])
    @pytest.mark.parametrize("scope", ["body", "limbs"])
    def test_any_rig_has_a_race_of_methods_that_take_the_chain(self, file, scope):
        rig = poise.load(samples.path(file))
        document = build_document(rig, scope=scope)
        raced = build_race(document, None, document.solver_start)
        assert raced.pace == "race"
        assert 2 <= raced.view_count == len(raced.solvers) <= 6
        (chain,) = raced.active_chains
        stage = shown_race(raced.with_chain(chain.replace(position=tuple(0.9 * x for x in chain.position))))
        assert all(outcome.path is not None for outcome in stage._outcomes[: raced.view_count])

    def test_methods_that_were_chosen_race(self):
        document = scenes.build_scene("two_methods")
        raced = build_race(document, "rope", document.solver_start)
        assert raced.solvers == document.solvers

    def test_a_crowd_does_not_race(self):
        crowd = scenes.build_scene("crowd")
        assert "one character" in refusal(lambda: build_race(crowd, None, crowd.solver_start))

    def test_commands_play_pause_step_and_restart(self):
        with watched(scenes.build_scene("two_methods")) as page:
            page.until(lambda page: page.frame)
            page.send("race", chain="rope")
            page.until(lambda page: page.state["run"] == "race" and page.frame.race_iteration > 0)
            page.until(lambda page: not page.frame.flags & 1)  # it has come to its end
            last = page.frame.race_iteration
            page.send("race_step", count=-1)
            page.until(lambda page: page.frame.race_iteration == last - 1)
            page.send("step")
            page.until(lambda page: page.frame.race_iteration == last)
            page.send("race_seek", iteration=0)
            page.until(lambda page: page.frame.race_iteration == 0)
            page.send("race_speed", value=200)
            page.send("race_play", on=True)
            page.until(lambda page: page.frame.race_iteration == last)
            page.send("reset")
            page.until(lambda page: page.frame.race_iteration < last)
            page.send("undo")
            page.until(lambda page: page.state["run"] == "live")
            assert not page.errors


class TestClips:
    def test_a_race_leaves_the_clip_and_a_clip_the_race(self):
        document = build_document(poise.load(samples.path("humanoid.bvh")))
        assert document.clip_name is not None
        race = ACTIONS["run"].apply(document, {"value": "race"})
        assert (race.pace, race.clip_name, race.plants_feet) == ("race", None, False)
        played = ACTIONS["clip"].apply(race, {"name": document.clip_name})
        assert (played.pace, played.clip_name) == ("live", document.clip_name)

    def test_a_long_solve_keeps_its_start_and_its_answer(self, monkeypatch):
        whole = shown_race(scenes.build_scene("race"))._outcomes[2].path
        assert whole.last > 12
        monkeypatch.setattr(view_solver, "_MAX_PATH_ROWS", 10)
        cut = shown_race(scenes.build_scene("race"))._outcomes[2].path
        np.testing.assert_array_equal(cut.q, np.concatenate([whole.q[:1], whole.q[-9:]]))
        np.testing.assert_array_equal(cut.errors, np.concatenate([whole.errors[:1], whole.errors[-9:]]))

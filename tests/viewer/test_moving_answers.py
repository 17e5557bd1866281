"""While a part is dragged beyond reach the next pose waits for nothing; at rest the page is told all."""

from __future__ import annotations

import threading

import pytest

import poise
from poise.io import samples
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.viewer import view_solver
from poise.viewer.document.document import build_document
from poise.viewer.session import pose_state
from poise.viewer.session.session_thread import SessionThread
from poise.viewer.view_solver import ViewSolver
from tests.viewer.watcher import watched

FAR = [0.4, 4.0, 0.3]


@pytest.fixture(scope="module")
def body():
    """The bundled humanoid as a whole body, without its clip."""
    return build_document(poise.load(samples.path("humanoid.glb"))).replace(clip_name=None)


@pytest.fixture
def session(body):
    """A session that works when it is told to, on this thread."""
    made = SessionThread(body)
    yield made
    made.close()


def pull(session, phase, height=4.0, joint="LeftHand"):
    position = [FAR[0], height, FAR[2]]
    session._run_action({"do": "pull", "joint": joint, "position": position, "phase": phase})
    session.pose_state.compute_frame()


def answer(session, *, is_moving):
    request = session.pose_state.begin_answer(is_moving=is_moving)
    return session.pose_state.finish_answer(request, request.compute())["views"][0]


class TestAnswers:
    def test_no_reason_is_searched_while_something_moves(self, session, monkeypatch):
        pull(session, "start")
        with monkeypatch.context() as patch:
            patch.setattr(view_solver, "_find_verdict", lambda *_, **__: pytest.fail("a reason was searched"))
            assert answer(session, is_moving=True)["status"] == "missed"
        monkeypatch.setattr(pose_state, "_ANSWER_INTERVAL_S", 0.0)
        assert session.pose_state.is_answer_due()  # the reason follows
        assert answer(session, is_moving=False)["status"] not in ("missed", "reached")
        assert not session.pose_state.is_answer_due()

    def test_what_is_reached_is_told_at_once(self, session):
        pull(session, "start", 1.3)
        moving, still = (answer(session, is_moving=is_moving) for is_moving in (True, False))
        assert moving["status"] == "reached"
        assert moving["sentence"] == still["sentence"]

    def test_a_reason_that_is_known_is_told(self, session):
        pull(session, "start")
        found = answer(session, is_moving=False)
        assert answer(session, is_moving=True)["sentence"] == found["sentence"]

    def test_a_slow_curve_waits_for_rest(self, session, monkeypatch):
        pull(session, "start", 1.3)
        monkeypatch.setattr(pose_state, "_MAX_MOVING_TRACE_S", 0.0)
        assert answer(session, is_moving=True)["errors"] is None
        assert answer(session, is_moving=False)["errors"]

    def test_the_page_gets_the_reason_when_the_target_rests(self, body):
        with watched(body) as page:
            page.until(lambda page: page.newest("answer"))
            page.send("pull", joint="LeftHand", position=FAR, phase="start", serial=3)
            page.until(
                lambda page: (
                    page.newest("answer")["serial"] == 3
                    and page.newest("answer")["views"][0]["status"] not in ("missed", "reached", "nothing")
                )
            )


class TestRestarts:
    @pytest.fixture
    def followed(self, monkeypatch):
        """Whether each solve of this thread continued a drag."""
        solves, call, here = [], ViewSolver.__call__, threading.current_thread()

        def note(solver, *args, continues_drag=False):
            if threading.current_thread() is here:  # another one may prepare drags
                solves.append(continues_drag)
            return call(solver, *args, continues_drag=continues_drag)

        monkeypatch.setattr(ViewSolver, "__call__", note)
        return solves

    def test_moves_of_a_drag_have_few_restarts(self, session, followed):
        for phase, height in (
            ("start", 4.0),
            ("move", 4.1),
            ("move", 1.3),
            ("move", 1.31),
            ("move", 4.0),
            ("end", 4.1),
        ):
            pull(session, phase, height)
        assert followed == [False, True, True, True, True, False]

    def test_the_limit_counts_for_each_move(self, session, monkeypatch):
        limited = []
        monkeypatch.setattr(view_solver, "limit_restarts", lambda solver, count: limited.append(count) or solver)
        pull(session, "start")
        assert limited == []
        pull(session, "move")
        assert limited == [view_solver._DRAG_RESTARTS]

    def test_moves_that_begin_at_the_start_pose_have_all_restarts(self, session, followed):
        session._run_action({"do": "from", "value": "start"})
        for phase in ("start", "move"):
            pull(session, phase)
        assert followed == [False, False]

    def test_other_changes_end_a_drag(self, session, followed):
        for phase in ("start", "move"):
            pull(session, phase)
        session._run_action({"do": "undo"})
        session.pose_state.mark_dirty()
        session.pose_state.compute_frame()
        assert followed == [False, True, False]

    def test_only_a_whole_body_without_a_choice_of_its_own(self, body):
        solver = ViewSolver(body, body.solver_start, body.solvers[0])
        chains = body.active_chains
        solver(chains, body.solver_start.q[None])
        limited = view_solver.limit_restarts(solver._required_solver, 3)
        assert limited.finisher.restarts == 3
        assert view_solver.limit_restarts(limited, 5) is limited
        arm = LevenbergMarquardt()
        assert view_solver.limit_restarts(arm, 3) is arm

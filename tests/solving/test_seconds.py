"""`seconds` of a result: the time of the call, without loading or compiling kernels."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from numba import njit

import poise
from poise.call_clock import count_seconds, get_pauses, pause_clock
from poise.kernels.jit import compilation
from poise.solvers.base.thread_parts import solve_in_parts

assert compilation  # its listener stops the clock while Numba compiles; machine code of the library never loads it
PAUSE = 0.05  # [s] far more than the solves of these tests take


@pytest.fixture(scope="module")
def arm():
    rig = poise.load(poise.samples.path("arm.urdf"))
    poise.solve(rig.rest, poise.Position("tool", [0.3, 0.2, 0.4]))  # loads the kernels
    return rig


class Compiler:
    """A callable that compiles a function that Numba has not seen.

    spent  [s] of processor time, which is the same on a busy machine
    """

    def __init__(self):
        self.spent = 0.0

    def __call__(self, *_progress):
        began = time.thread_time()
        njit(lambda x: x + began)(1.0)
        self.spent += time.thread_time() - began

    def make_solver(self):
        """Make a solver that compiles in each run."""

        class Compiling(poise.CCD):
            def run(solver, *given):  # noqa: N805  (`self` is the compiler)
                self()
                return super(Compiling, solver).run(*given)

        return Compiling()


def solve_single(rig, compiler):
    return poise.solve(rig.rest, poise.Position("tool", [0.3, 0.2, 0.4]), solver=compiler.make_solver())


def solve_batch(rig, compiler):
    return poise.solve(rig.rest, poise.Position("tool", [[0.3, 0.2, 0.4], [0.3, 0.1, 0.4]]), progress=compiler)


def bake_frames(rig, compiler):
    clip = poise.Clip.at_rate(poise.Pose(rig.skeleton, np.tile(rig.rest.q, (3, 1))), 30)
    return poise.bake(clip, poise.Position("tool", [0.3, 0.2, 0.4]), progress=compiler).result


@pytest.mark.parametrize("call", [solve_single, solve_batch, bake_frames])
def test_seconds_leave_compiling_out(arm, call):
    compiler, began = Compiler(), time.perf_counter()
    result = call(arm, compiler)
    seconds = time.perf_counter() - began
    assert 0 < result.seconds < seconds - 0.9 * compiler.spent < seconds


def test_a_tracker_with_a_budget_of_time_leaves_compiling_out(arm):
    compiler = Compiler()
    tracker = poise.Tracker(arm.rest, poise.Position("tool", [0.3, 0.2, 0.4]), solver=compiler.make_solver())
    compiler.spent, began = 0.0, time.perf_counter()  # it has solved for its first pose
    shown = tracker([0.3, 0.2, 0.5])
    seconds = time.perf_counter() - began
    assert 0 < shown.seconds < seconds - 0.9 * compiler.spent < seconds


def test_pauses_within_a_pause_count_once():
    began = time.perf_counter()
    with pause_clock():
        time.sleep(PAUSE / 2)
        with pause_clock():
            time.sleep(PAUSE / 2)
    assert PAUSE <= get_pauses().total_since(began) <= time.perf_counter() - began


def test_a_pause_before_the_call_counts_only_as_far_as_it_overlaps():
    with pause_clock():
        time.sleep(PAUSE)
        began = time.perf_counter()
        time.sleep(PAUSE)
    assert PAUSE <= get_pauses().total_since(began) <= time.perf_counter() - began


def test_pauses_of_threads_that_work_for_the_call_count_and_those_of_others_do_not():
    def work(_first, _last):
        with pause_clock():
            time.sleep(PAUSE)

    began = time.perf_counter()
    solve_in_parts(8192, 2, work, None)
    assert count_seconds(began) < time.perf_counter() - began - 0.9 * PAUSE

    began = time.perf_counter()
    stranger = threading.Thread(target=work, args=(0, 0))
    stranger.start()
    stranger.join()
    assert count_seconds(began) > 0.9 * PAUSE

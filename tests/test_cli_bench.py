"""`poise warmup` and `poise bench` run; how fast is for people to read."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

import poise
from poise import samples
from tests.test_cli import run

warming = importlib.import_module("poise.warmup")  # `poise.warmup` is the function


@pytest.fixture(scope="module")
def compiled():
    poise.warmup()
    return warming.compiled()


class TestWarmup:
    def test_every_kernel_is_compiled(self, compiled):
        assert set(compiled.values()) == {1}

    def test_solving_compiles_nothing_more(self, compiled):
        arm, figure = poise.load(samples.path("arm.urdf")).rest, poise.load(samples.path("humanoid.glb")).rest
        upright = (1, 0, 0, 0)
        for goal in (
            poise.Position("tool", (0.3, 0.1, 0.4)),
            poise.Direction("tool", (1, 0, 0)),
            poise.Place("tool", np.zeros((2, 3)), upright),
        ):
            poise.solve(arm, goal).message()
            poise.solve(arm, goal, prefer="closest", seeds=3)
        wanted = [poise.Position("LeftHand", (0.4, 1.2, 0.3)), poise.Pin("RightFoot"), poise.Near(figure)]
        poise.solve(figure, wanted).message()
        poise.solve(figure, wanted[:1]).message()
        clip = poise.load(samples.path("humanoid.glb")).clips[0].poses
        poise.solve(clip, wanted[0])
        assert clip.world.rotations.size
        clip.jacobian("LeftHand")
        assert warming.compiled() == compiled

    def test_progress_names_the_steps(self):
        said = []
        folder = poise.warmup(said.append)
        assert said == [name for name, _ in warming.steps()]
        assert list(folder.glob("*.nbc"))

    def test_the_command(self):
        done = run("warmup")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("kernels ready in ")
        assert f", cached in {poise.warmup()}\n" in done.stdout


class TestBench:
    def test_json(self):
        done = run("bench", "--quick", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert {"cpu", "cores", "lanes", "python", "numba"} <= set(found["machine"])
        rows = {row["what"].partition(",")[0]: row for row in found["rows"]}
        assert {"arm", "figure", "ten bones", "arm.urdf", "humanoid.bvh"} <= set(rows)
        for row in found["rows"]:
            assert row["solved"] in (None, 100.0), row
            assert 0 < row["median"] <= (row["p99"] or np.inf), row

    def test_a_table(self):
        done = run("bench", "--quick")
        assert done.returncode == 0, done.stderr
        assert "| arm, prepared call " in done.stdout
        assert "on: cpu " in done.stdout

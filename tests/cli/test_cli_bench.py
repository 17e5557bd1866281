"""`poise warmup` and `poise bench` run; how fast is for people to read."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import poise
from tests.command_line import run, start
from tests.workload import amount

warming = importlib.import_module("poise.precompile")  # `poise.warmup` is the function


#: Library code in place of what Numba compiles: no kernel takes seconds, and the same kinds of arguments are counted.
STAND_INS = """
from types import SimpleNamespace
from numba import typeof
from poise.kernels import levels, native
from poise.kernels.jit import compiler

class StandIn:
    stats = SimpleNamespace(cache_path=None)

    def __init__(self, function, releases_gil):
        self.name = f"{function.__module__.removeprefix('poise.kernels.')}.{function.__qualname__}"
        self.signatures = set()

    def __call__(self, *arguments):
        self.signatures.add(tuple(map(typeof, arguments)))
        return native.load_library().list_kernels(levels.find_level())[self.name](*arguments)

compiler.make_kernel_dispatcher = StandIn
"""

SOLVING = """
import importlib, json
import numpy as np
import poise
from poise.io import samples
count_compiled = importlib.import_module("poise.precompile").count_compiled
poise.warmup()
print(json.dumps(count_compiled()))
arm, figure = poise.load(samples.path("arm.urdf")).rest, poise.load(samples.path("humanoid.glb")).rest
for goal in (
    poise.Position("tool", (0.3, 0.1, 0.4)),
    poise.Direction("tool", (1, 0, 0)),
    poise.Place("tool", np.zeros((2, 3)), (1, 0, 0, 0)),
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
print(json.dumps(count_compiled()))
"""


@pytest.fixture(scope="module")
def compiled():
    """The kinds of arguments that each kernel is compiled for in a new process: warm, and after solving.

    To compile all takes minutes: in full amounts only.
    """
    done = subprocess.run(
        [sys.executable, "-c", amount(STAND_INS, "") + SOLVING], check=True, capture_output=True, text=True,
        env=os.environ | {"POISE_KERNELS": "jit"},
    )  # fmt: skip
    warm, solved = map(json.loads, done.stdout.splitlines())
    return warm, solved


class TestWarmup:
    @pytest.mark.long
    def test_every_kernel_is_compiled(self, compiled):
        counts = compiled[0]
        assert max(counts.values()) == 1
        assert sum(counts.values()) > 30  # the others have another lane count, or no step reaches them

    def test_solving_compiles_nothing_more(self, compiled):
        assert compiled[1] == compiled[0]

    @pytest.mark.long
    def test_with_the_library_there_is_nothing_to_do(self):
        calls = []
        assert poise.warmup(progress=lambda *call: calls.append(call)) is None
        assert calls == []
        done = start("warmup")
        assert (done.returncode, done.stdout) == (0, "nothing to do: the library has the code of all kernels\n")

    @pytest.mark.long
    def test_without_it_progress_names_the_steps(self):
        """Of the first two, for the others take a minute."""
        code = (
            "import importlib, json, poise\n"
            "precompile = importlib.import_module('poise.precompile')\n"
            "precompile._WARMUP_STEPS = precompile._WARMUP_STEPS[:2]\n"
            "calls = []\nfolder = poise.warmup('arms', progress=lambda *call: calls.append(call))\n"
            "names = [name for name, _ in precompile.list_steps('arms')]\n"
            "print(json.dumps([calls, names, sorted(map(str, folder.glob('*.nbc')))]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True,
            env=os.environ | {"POISE_KERNELS": "jit"},
        )  # fmt: skip
        calls, names, files = json.loads(done.stdout)
        assert len(names) == 2
        assert calls == [[i + done, len(names), name] for i, name in enumerate(names) for done in (0, 1)]
        assert files

    @pytest.mark.parametrize("group", warming.GROUP_NAMES[:-1])
    def test_a_group_is_a_part(self, group):
        names, part = ([name for name, _ in warming.list_steps(what)] for what in ("all", group))
        assert part[0] == "poses"
        assert set(part) < set(names)

    def test_the_groups_are_all(self):
        parts = {name for group in warming.GROUP_NAMES[:-1] for name, _ in warming.list_steps(group)}
        assert parts == {name for name, _ in warming.list_steps()}

    def test_another_word(self):
        with pytest.raises(poise.PoiseError, match="no group of kernels 'legs'; groups of kernels: arms, figures"):
            poise.warmup("legs")


class TestBench:
    def test_json(self):
        done = run("bench", "--effort", "quick", "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert {"cpu", "cores", "lanes", "level", "python", "numba"} <= set(found["machine"])
        assert found["units"] == {"solved": "%", "median": "unit of the row", "p99": "unit of the row"}
        rows = {row["what"].partition(",")[0]: row for row in found["rows"]}
        assert {"arm", "figure", "ten bones", "arm.urdf", "humanoid.bvh"} <= set(rows)
        for row in found["rows"]:
            assert row["solved"] in (None, 100.0), row
            assert 0 < row["median"] <= (row["p99"] or np.inf), row

    @pytest.mark.long
    def test_a_table(self):
        done = start("bench", "--effort", "quick")
        assert done.returncode == 0, done.stderr
        assert "| arm, prepared call " in done.stdout
        assert "on: cpu " in done.stdout

"""Bodies and chains that pages solve without Python: their answers in node, bit for bit those of the portable level."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from poise.io import samples
from poise.kernels import native
from poise.viewer.offline.methods import MAX_CURVE, METHODS
from tests.timeouts import PROCESS
from tests.workload import draw

ROOT = Path(__file__).parents[2]
COUNT = 30  # of each mode
REAL_BODIES = ("glb/knight_kaykit.glb", "glb/mixamo_human_makehuman.glb", "bvh/walk_mass.bvh")

library = native.load_library()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        library is None or "portable" not in library.list_levels(), reason="no library here has the portable level"
    ),
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]


def run(*command: str, given: str | None = None) -> str:
    """Run a command on the level whose bits are WebAssembly's."""
    variables = os.environ | {"POISE_LEVEL": "portable", "POISE_QUIET": "1"}
    for name in ("POISE_LANES", "POISE_KERNELS"):
        variables.pop(name, None)
    finished = subprocess.run(
        command, check=False, cwd=ROOT, env=variables, input=given, capture_output=True, text=True, timeout=PROCESS
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def compare(path: Path | str) -> tuple[int, int]:
    """Compare all answers for a file, and count those that reach their goals, and all."""
    text = run(sys.executable, "-m", "tests.viewer.body_cases", str(path), str(COUNT))
    answers = json.loads(run("node", "tests/viewer/body_answers.mjs", given=text))
    reached = count = 0
    for mode, cases in json.loads(text)["cases"].items():
        for case, answer in zip(cases, answers[mode], strict=True):
            assert answer["q"] == case["q"], (mode, case["goals"])
            assert (answer["iterations"], answer["traced"]) == (case["iterations"], case["q"])
            reached, count = reached + case["reached"], count + 1
    for mode, cases in json.loads(text)["gazes"].items():
        assert answers["gazes"][mode] == [case["q"] for case in cases], mode
        assert any(case["moved"] for case in cases)
    return reached, count


def test_a_page_puts_a_body_together_bit_for_bit_as_python_does():
    reached, count = compare(samples.path("humanoid.glb"))
    assert 0 < reached < count == 2 * COUNT


def test_a_page_solves_chains_by_each_method_bit_for_bit_as_python_does():
    text = run(sys.executable, "-m", "tests.viewer.chain_cases", "6")
    answers = json.loads(run("node", "tests/viewer/chain_answers.mjs", given=text))
    solved = set()
    for name, document in json.loads(text).items():
        for mode, methods in document["cases"].items():
            for method, cases in methods.items():
                for case, answer in zip(cases, answers[name][mode][method], strict=True):
                    assert (answer["q"], answer["iterations"]) == (case["q"], case["iterations"]), (name, mode, method)
                solved.add((name, method))
    assert {method for _, method in solved} == set(METHODS)
    assert ("limbs", "ccd") in solved


def test_methods_race_in_a_page_along_the_poses_of_python():
    text = run(sys.executable, "-m", "tests.viewer.race_cases")
    answers = json.loads(run("node", "tests/viewer/race_answers.mjs", given=text))
    last_iterations = []
    for name, document in json.loads(text).items():
        answer = answers[name]
        for case, ways in zip(document["cases"], answer["ways"], strict=True):
            for method, path in case["paths"].items():
                way = ways[method]
                assert way["met"] == path["met"], (name, method)
                assert way["errors"] == way["last"] + 1
                if path["last"] < MAX_CURVE:  # a page keeps the first iterations of a longer way
                    assert (way["last"], way["poses"]) == (path["last"], path["poses"]), (name, method)
                    assert way["left"] == pytest.approx(path["left"], abs=1e-9)
                last_iterations.append(path["last"])
        assert answer["smoothness"] == pytest.approx(document["moved"]["smoothness"], rel=1e-9)
        assert all(figures["call"] > 0 for figures in answer["figures"].values())
    assert max(last_iterations) > 100
    assert sum(last < MAX_CURVE for last in last_iterations) > 0.9 * len(last_iterations)


@pytest.mark.long
@pytest.mark.parametrize("name", draw("bodies of pages", REAL_BODIES, 1))
def test_bodies_of_real_files_have_the_same_bits(data, name):
    reached, count = compare(data / name)
    assert 0 < reached < count

"""The contributor's guide: each recipe works when it is followed word for word, and fails where it is not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.recipes import GUIDE, copy_to, file_of, follow, recipe
from tests.workload import draw, find_touched_files


class Proof(NamedTuple):
    """What the last step of a recipe prints, and a change that makes it worthless."""

    shown: tuple[str, ...]
    right: str
    wrong: str


PROOFS = {
    "Add a solver": Proof(
        (
            "TestChains::test_every_target_gives_an_honest_legal_pose[7-hinges-Range-secant]",
            "PASSED tests/contracts/test_solvers.py::test_goals[Position-secant]",
            "(secant)\n",
        ),
        "np.clip(q[columns] + step, low, high)",
        "q[columns] + step",
    ),
    "Add a goal": Proof(
        (
            "test_it_is_met_and_its_errors_are_those_of_forward_kinematics[Drill]",
            "PASSED tests/contracts/test_solvers.py::test_goals[Drill-levenberg_marquardt]",
            "\nreached: ",
        ),
        "numbers.shape[-1:] == (self.width,)",
        "numbers.shape[-1:] == (3,)",
    ),
    "Add a limit": Proof(
        (
            "PASSED tests/contracts/test_limits.py::TestExamples::test_kernels_and_arrays_agree[Cone]",
            "PASSED tests/contracts/test_limits.py::TestExamples::test_saved_and_loaded_it_bounds_the_same[Cone]",
            "PASSED tests/contracts/test_solvers.py::test_limits[Cone-ccd]",
        ),
        "swing=angle,",
        "swing=2.0 * angle,",
    ),
    "Add a format": Proof(
        (
            "PASSED tests/contracts/test_formats.py::TestWriting::test_what_is_written_is_read_again[bones-.bones]",
            "PASSED tests/contracts/test_formats.py::TestReading::test_a_file_with_wrong_bytes[bones-.bones]",
            "3 kept, 0 broken",
        ),
        "columns[1] not in indices",
        "len(columns) == 0",
    ),
}


#: Recipes that are followed: some that the commit draws, or all where it changes the guide.
TITLES = list(PROOFS) if GUIDE in find_touched_files() else draw("recipes", PROOFS, 2)


def test_every_recipe_has_a_proof():
    assert re.findall(r"^## (Add .*)$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE) == list(PROOFS)


@pytest.mark.parametrize("title", TITLES)
def test_followed_word_for_word_it_works(title, tmp_path):
    folder, steps = copy_to(tmp_path), recipe(title)
    shown = "".join([follow(step, folder) for step in steps])
    for expected in PROOFS[title].shown:
        assert expected in shown
    ruff, files = Path(sys.executable).with_name("ruff"), [file for file in map(file_of, steps) if file.endswith(".py")]
    for check in (["check"], ["format", "--check"]):
        subprocess.run([ruff, *check, "--quiet", "--no-cache", *files], cwd=folder, check=True)


@pytest.mark.parametrize(
    ("title", "without"), [(title, i) for title in TITLES for i in range(1, len(recipe(title)) - 1)], ids=str
)
def test_without_one_of_its_steps_it_fails(title, without, tmp_path):
    """The steps after the first, which is the thing itself: what becomes of a mistake in that is tested below."""
    folder = copy_to(tmp_path)
    *before, last = (step for i, step in enumerate(recipe(title)) if i != without)
    for step in before:
        follow(step, folder)
    with pytest.raises(AssertionError, match="exit code"):
        follow(last, folder)


@pytest.mark.parametrize("title", TITLES)
def test_with_a_mistake_in_it_the_contract_says_so(title, tmp_path):
    folder, proof = copy_to(tmp_path), PROOFS[title]
    first, *between, last = recipe(title)
    assert first.block.count(proof.right) == 1
    for step in (first._replace(block=first.block.replace(proof.right, proof.wrong)), *between):
        follow(step, folder)
    with pytest.raises(AssertionError, match=r"exit code 1(?s:.*)FAILED tests/contracts/"):
        follow(last, folder)

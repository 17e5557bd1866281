"""Types as users meet them: pyright and mypy over the examples and five scripts, and how complete the types are."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.workload import amount, is_drawn

SCRIPTS = sorted((ROOT / "tests" / "typing").glob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LEAST_COMPLETE = 0.97
WRONG_LINES = """\
# pyright: standard
import poise
from poise import samples

rig = poise.load(samples.path("arm.urdf"))
result = poise.solve(rig.rest, poise.Position("tool", [0.3, 0.2, 0.4]))
single: poise.SingleResult = result
batch: poise.BatchResult = result
"""
WRONG_USES = [
    "result.reachd",
    "result.pose.wrld",
    "poise.sovle",
    "single.reached.all()",
    "single.error.max()",
    "single.status[0]",
    "batch.status.sentence",
    "poise.solve(rig.rest, 'tool')",
    "poise.Position('tool')",
]


def test_there_are_five_scripts():
    assert [path.stem for path in SCRIPTS] == ["batch", "clip", "plant", "robot", "single"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs(path, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path)])
    runpy.run_path(str(path), run_name="__main__")


def pyright(folder, *options):
    """The report of pyright on a folder, with the package as it stands here."""
    done = subprocess.run(
        ["pyright", "--outputjson", "--pythonpath", sys.executable, *options],
        check=False, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=amount(["strict"], ["standard", "strict"]))  # which asks for more
def errors(request, tmp_path_factory):
    """What pyright has against examples, scripts and wrong uses: (name of the file, line, rule, message)."""
    folder = tmp_path_factory.mktemp(request.param)
    for path in (*EXAMPLES, *SCRIPTS):
        shutil.copy(path, folder)
    (folder / "wrong.py").write_text(WRONG_LINES + "\n".join(WRONG_USES) + "\n", encoding="utf-8")
    options = {"typeCheckingMode": request.param, "extraPaths": [str(ROOT / "src")], "include": ["."]}
    (folder / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each.get("rule", ""), each["message"])
        for each in pyright(folder)["generalDiagnostics"]
        if each["severity"] == "error"
    ]


@pytest.mark.long
def test_pyright_has_nothing_against_examples_and_scripts(errors):
    of_jax = {path.name for path in EXAMPLES if "jax.jit" in path.read_text(encoding="utf-8")}  # JAX leaves types open
    found = [each for each in errors if each[0] != "wrong.py"]
    assert [each for each in found if each[0] not in of_jax or not each[2].startswith("reportUnknown")] == []


@pytest.mark.long
def test_pyright_finds_wrong_uses(errors):
    lines = {line for file, line, rule, _ in errors if file == "wrong.py" and rule != "reportUnusedExpression"}
    first = WRONG_LINES.count("\n") + 1
    assert lines == set(range(first, first + len(WRONG_USES)))


@pytest.mark.long
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.skipif(not is_drawn("mypy", 3), reason="this commit does not draw mypy")
@pytest.mark.parametrize("options", amount([["--strict"]], [[], ["--strict"]]), ids=" ".join)  # which asks for more
def test_mypy_has_nothing_against_examples_and_scripts(options, tmp_path):
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--scripts-are-modules", *options]
    done = subprocess.run(
        [*command, f"--cache-dir={tmp_path}", *map(str, EXAMPLES), *map(str, SCRIPTS)],
        check=False, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_the_types_are_complete(tmp_path):
    report = pyright(tmp_path, "--verifytypes", "poise", "--ignoreexternal")["typeCompleteness"]
    assert Path(report["packageRootDirectory"]) == ROOT / "src/poise"
    unknown = [each["name"] for each in report["symbols"] if each["isExported"] and not each["isTypeKnown"]]
    assert report["completenessScore"] >= LEAST_COMPLETE, unknown

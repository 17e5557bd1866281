"""Files beside the package agree with it: version, changes, citation, hosted checks, and sentences about issues."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
import yaml

import poise
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def tracked(*patterns):
    """Text files of the repository."""
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this folder is no checkout of git")
    names = [name for name in listed.stdout.splitlines() if "third_party/" not in name and (ROOT / name).is_file()]
    assert len(names) > 500
    for name in names:
        data = (ROOT / name).read_bytes()
        if b"\0" not in data:
            yield name, data.decode(errors="replace")


def test_the_version_stands_in_one_place():
    version = re.compile(rf"(?<![\d.]){re.escape(poise.__version__)}(?![\d.])")
    ours = ("src/poise/", "pyproject.toml", "CITATION.cff", "README.md", "docs/conf.py", "NOTICE")
    found = [name for name, text in tracked() if name.startswith(ours) and version.search(text)]
    assert found == ["src/poise/runtime/version.py"]


def test_the_changes_of_this_version_come_first():
    assert re.findall(r"^## ([\d.]+)", read("CHANGELOG.md"), re.MULTILINE)[0] == poise.__version__


def test_the_citation_names_the_project():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]
    assert citation["authors"][0]["name"] in read("NOTICE")
    assert citation["license"] in PROJECT["license"]


class TestHostedChecks:
    JOBS = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"]

    def commands(self, job):
        return [step["run"] for step in self.JOBS[job]["steps"] if "run" in step]

    def test_they_run_the_scripts_of_the_checkout(self):
        assert self.commands("quick") == ["scripts/test"]
        assert self.commands("everything") == ["bash .ci/run"]
        assert read(".ci/run").splitlines()[-1] == "exec bash scripts/test --all"

    def test_everything_runs_at_night(self):
        triggers = yaml.safe_load(read(".github/workflows/ci.yml"))[True]  # YAML 1.1 reads `on` as true
        assert triggers["schedule"][0]["cron"].count(" ") == 4
        assert "schedule" in self.JOBS["everything"]["if"]

    def test_the_pythons_are_those_of_the_metadata(self):
        pythons = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", text)]
        assert self.JOBS["quick"]["strategy"]["matrix"]["python"] == pythons
        (setup,) = (step for step in self.JOBS["everything"]["steps"] if "setup-python" in step.get("uses", ""))
        assert sorted(setup["with"]["python-version"].split()) == pythons
        assert PROJECT["requires-python"] == f">={pythons[0]}"


@pytest.mark.long
def test_no_text_points_at_issues_that_readers_cannot_see():
    found = [
        f"{name}: {line.strip()}"
        for name, text in tracked("src", "tests", "docs", "benchmarks", "tools", "scripts", "examples")
        for line in text.splitlines()
        if re.search(r"\b(the|this|see|our) issues?\b|\bissue('s| #?\d)", line, re.IGNORECASE)
    ]
    assert found == []

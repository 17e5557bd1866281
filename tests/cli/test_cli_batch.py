"""Whole libraries on the command line: what is refused, what is written, what a kill leaves."""

from __future__ import annotations

import csv
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.cli import batch_run as running
from poise.cli import foot_planting, retarget, solve
from poise.cli.batch_files import BATCH_COMMANDS, FilePair
from poise.cli.batch_run import Journal, remove_leftovers
from poise.cli.convert import ConvertJob
from poise.cli.goal_options import GoalOptions
from poise.errors import PoiseWarning
from poise.io import samples
from poise.io.files import find_leftovers, write_atomically
from tests.command_line import run
from tests.shared_kernel_cache import once
from tests.timeouts import PROCESS

WALK, FIGURE = samples.path("humanoid.bvh"), samples.path("humanoid.glb")
PLAIN = ConvertJob(None, None, None, None, None, None)


@pytest.fixture
def takes(tmp_path):
    """Three walks, one of them in a folder below, and a file that is none."""
    folder = tmp_path / "takes"
    (folder / "below").mkdir(parents=True)
    for name in ("a.bvh", "b.bvh", "below/c.bvh"):
        shutil.copy(WALK, folder / name)
    (folder / "bad.bvh").write_text("HIERARCHY\nnothing")
    (folder / "notes.txt").write_text("no rig")
    return folder


@pytest.fixture
def here(monkeypatch):
    """Work is done in this process, which has no need of others."""

    def completed(files, job, **_given):
        yield from ((number, finished_of(job, file)) for number, file in enumerate(files))

    def finished_of(job, file):
        try:
            return poise.Finished(file, pickle.loads(pickle.dumps(job))(file), None)  # noqa: S301
        except Exception as error:  # noqa: BLE001
            return poise.Finished(file, None, error)

    monkeypatch.setattr(running, "iterate_completed", completed)


def warning_work(file, _out):
    warnings.warn(f"{file}: known", PoiseWarning, stacklevel=1)
    warnings.warn(f"{file}: keys are off", PoiseWarning, stacklevel=1)
    return {"status": "ok", "message": "known"}


class WarmWarning:
    def warm(self, file):
        warnings.warn(f"{file}: known", PoiseWarning, stacklevel=1)


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


class TestConvert:
    def test_a_folder_in_other_processes(self, takes, tmp_path):
        out = tmp_path / "new"
        code, text, errors = run("convert", takes, "-o", out, "--format", "glb", "--processes", "2")
        assert code == 1
        failed = "1 failed (the same command retries them)"
        assert text == f"3 of 4 files good, {failed}; table in {out / 'poise-convert.csv'}\n"
        assert errors.startswith(f"failed: {takes / 'bad.bvh'}: line ")
        made = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
        assert made == [".poise-convert.journal", "a.glb", "b.glb", "below/c.glb", "poise-convert.csv"]
        rows = table(out / "poise-convert.csv")
        assert [row["status"] for row in rows] == ["failed", "ok", "ok", "ok"]
        assert rows[1]["frames"] == "31"
        poise.convert(WALK, tmp_path / "a.glb")
        assert len(poise.load(out / "a.glb").clips) == 1

    def test_what_is_warned_of_stands_in_the_row(self, tmp_path):
        """In another process, too, where nobody would see which file is meant."""
        pair = FilePair(tmp_path / "a.bvh", tmp_path / "b.bvh")
        with warnings.catch_warnings(record=True) as leaked:
            warnings.simplefilter("always")
            row = running._PairJob(warning_work)(pair)
            running._compile_kernels(BATCH_COMMANDS["solve"], WarmWarning(), [pair])
        assert leaked == []
        assert row == {"status": "ok", "message": "known; keys are off"}

    def test_patterns_and_several_files(self, takes, tmp_path, here):
        out = tmp_path / "new"
        code, text, _ = run("convert", takes / "?.bvh", FIGURE, "-o", out, "--format", ".bvh", "--json")
        message = json.loads(text)
        assert (code, message["files"], message["ok"]) == (0, 3, 3)
        assert {Path(row["out"]).name for row in message["rows"]} == {"a.bvh", "b.bvh", "humanoid.bvh"}
        code, text, _ = run("convert", takes / "**" / "c*.bvh", "-o", tmp_path / "more", "--format", "glb")
        assert code == 0
        assert (tmp_path / "more" / "c.glb").is_file()

    def test_an_unchanged_file_is_the_same_as_by_itself(self, takes, tmp_path, here):
        assert run("convert", takes, "-o", tmp_path / "new", "--format", "bvh")[0] == 1
        assert (tmp_path / "new" / "a.bvh").read_bytes() == WALK.read_bytes()

    def test_new_files_below_the_folder_are_no_input_of_the_next_run(self, takes, here):
        for more in ((), ("--overwrite",)):
            assert run("convert", takes, "-o", takes / "new", "--format", "glb", *more)[0] == 1
        assert len(table(takes / "new" / "poise-convert.csv")) == 4


class TestRefused:
    """Before any work: nothing is written, and one line says why."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("takes/a.bvh", "takes/b.bvh", "takes/below/c.bvh"), "give a file and the new one"),
            (("takes", "-o", "new"), "many files need --format"),
            (("takes", "-o", "new", "--format", "fbx"), ".fbx: "),
            (("takes", "-o", "takes", "--format", "glb"), "takes is read from and written to"),
            (("takes/*.bvh", "-o", "takes", "--format", "bvh"), "a.bvh is one of the files to work on"),
            (("takes/a.bvh", "other/a.bvh", "-o", "new", "--format", "glb"), "would both be written to new/a.glb"),
            (("takes/a.bvh", "takes/no.bvh", "-o", "new", "--format", "glb"), "takes/no.bvh: there is no such file"),
            (("empty", "-o", "new", "--format", "glb"), "no file to work on in empty"),
            (("takes", "-o", "old", "--format", "glb"), "these outputs exist: old/a.glb; --overwrite replaces them"),
            (("takes", "-o", "takes/a.bvh", "--format", "glb"), "-o takes/a.bvh is a file"),
            (("takes/a.bvh", "b.glb", "--overwrite"), "with one file takes no --overwrite"),
        ],
    )
    def test_convert(self, takes, tmp_path, arguments, message):
        for folder in ("other", "empty", "old"):
            (tmp_path / folder).mkdir()
        shutil.copy(WALK, tmp_path / "other" / "a.bvh")
        (tmp_path / "old" / "a.glb").write_bytes(b"old")
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
        code, text, errors = run("convert", *arguments, cwd=tmp_path)
        assert (code, text) == (2, "")
        assert message in errors
        assert errors.count("\n") == 1
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("lock", "takes", "-o", "new", "--report", "a.html"), "with many files takes no --report"),
            (("plant", "takes", "--terrain", "nowhere.png", "-o", "new"), "nowhere.png"),
            (("plant", "takes", "--terrain", "slope:5", "-o", "new", "--plot", "a.svg"), "takes no --plot"),
            (("solve", "takes", "--joint", "Head", "--to", "0", "1", "0", "-o", "new"), "needs --every-frame"),
            (("solve", "takes", "--every-frame", "--joint", "Head", "--to", "0", "1", "0"), "need -o FOLDER"),
            (("lock", "takes/a.bvh", "-o", "a.bvh", "--cluster", "local"), "with one file takes no --cluster"),
        ],
    )
    def test_other_verbs(self, takes, tmp_path, arguments, message):
        code, text, errors = run(*arguments, cwd=tmp_path)
        assert (code, text) == (2, "")
        assert message in errors
        assert not (tmp_path / "new").exists()

    @pytest.fixture
    def several(self, tmp_path):
        """Write a file with clips into a folder of takes: several(NAME, CLIPS)."""
        rig = poise.load(FIGURE)
        clip = rig.clips[0]
        (tmp_path / "in").mkdir()

        def write(name, clips):
            made = tuple(poise.Clip(clip.times, clip.poses, one) for one in clips)
            poise.save(poise.Rig(rig.skeleton, rig.pose, made), tmp_path / "in" / f"{name}.glb")

        return write

    ALL = ("convert", "in", "-o", "new", "--format", "bvh", "--clip", "all")

    @pytest.mark.parametrize(
        ("first", "second", "both"),
        [
            (("a", ("b_c", "d")), ("a_b", ("c", "e")), "a_b_c.bvh"),
            (("a", ("b", "d")), ("a_b", ("c",)), "a_b.bvh"),
            (("a", ("B_c", "d")), ("A_b", ("C", "e")), "A_b_C.bvh"),
        ],
    )
    def test_two_clips_of_one_name(self, several, tmp_path, first, second, both):
        """Names of clips are known when a file is read, and a_b with clip c is a with clip b_c."""
        several(*first)
        several(*second)
        code, text, errors = run(*self.ALL, cwd=tmp_path)
        assert (code, text, errors.count("\n")) == (2, "", 1)
        assert f"would both be written to new/{both}".casefold() in errors.casefold()
        assert not (tmp_path / "new").exists()

    def test_a_clip_whose_file_is_there(self, several, tmp_path, here):
        several("a", ("b", "c"))
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "a_c.bvh").write_bytes(b"old")
        code, _, errors = run(*self.ALL, cwd=tmp_path)
        assert code == 2
        assert "this output exists: new/a_c.bvh; --overwrite" in errors
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["a_c.bvh"]
        assert run(*self.ALL, "--overwrite", cwd=tmp_path)[0] == 0
        assert poise.load(tmp_path / "new" / "a_c.bvh").clips[0].name == "a_c"

    def test_clips_of_an_interrupted_run_are_no_obstacle(self, several, tmp_path, here, monkeypatch):
        several("a", ("b", "c"))
        several("z", ("b", "c"))
        monkeypatch.setattr(Journal, "end", lambda _: None)  # as if it had been stopped at the very end
        assert run(*self.ALL, cwd=tmp_path)[0] == 0
        (tmp_path / "new" / "poise-convert.csv").unlink()
        code, text, errors = run(*self.ALL, cwd=tmp_path)
        assert code == 0, errors
        assert "resuming: 2 of 2 were finished" in errors
        assert text.startswith("2 of 2 files good")

    def test_files_are_read_beforehand_only_where_names_may_meet(self, several, tmp_path, here, monkeypatch):
        requested = []
        for name in ("a", "ab", "b", "b_1", "b_1_x", "c-d"):
            several(name, ("walk", "run"))
        monkeypatch.setattr(
            "poise.cli.input_output_files.read_rig", lambda file: requested.append(file.stem) or poise.load(file)
        )
        run(*self.ALL, cwd=tmp_path)
        assert sorted(requested) == ["b", "b_1", "b_1_x"]

    def test_names_that_differ_by_case_are_one_on_some_systems(self, takes, tmp_path):
        (tmp_path / "other").mkdir()
        shutil.copy(WALK, tmp_path / "other" / "A.bvh")
        code, _, errors = run("convert", takes / "a.bvh", tmp_path / "other", "-o", tmp_path / "new", "--format", "glb")
        assert code == 2
        assert "would both be written" in errors


class TestVerbs:
    """The works of the other verbs, in this process; each file as the verb alone would write it."""

    def test_lock(self, takes, tmp_path, here):
        assert run("lock", takes, "-o", tmp_path / "new")[0] == 1
        assert run("lock", takes / "a.bvh", "-o", tmp_path / "a.bvh")[0] == 0
        assert (tmp_path / "new" / "a.bvh").read_bytes() == (tmp_path / "a.bvh").read_bytes()
        rows = table(tmp_path / "new" / "poise-lock.csv")
        assert float(rows[1]["skate_after"]) < 1e-6 < float(rows[1]["skate_before"])

    def test_plant_strict(self, takes, tmp_path, here):
        code, text, _ = run(
            "plant", takes / "?.bvh", "--terrain", "stairs:0.6,0.25", "-o", tmp_path / "new", "--strict"
        )
        assert code == 1
        assert text.startswith("0 of 2 files good, 2 with problems; table")
        assert {row["status"] for row in table(tmp_path / "new" / "poise-plant.csv")} == {"worse"}

    def test_solve(self, takes, tmp_path, here):
        reach = ("--every-frame", "--joint", "LeftHand", "--to", "0.3", "1.2", "0.3")
        assert run("solve", takes / "?.bvh", *reach, "-o", tmp_path / "new")[0] == 0
        assert run("solve", takes / "a.bvh", *reach, "-o", tmp_path / "a.bvh")[0] == 0
        assert (tmp_path / "new" / "b.bvh").read_bytes() == (tmp_path / "a.bvh").read_bytes()
        far = (*reach[:-3], "9", "9", "9")
        code, _, _ = run("solve", takes / "?.bvh", *far, "-o", tmp_path / "far", "--format", "glb")
        rows = table(tmp_path / "far" / "poise-solve.csv")
        assert code == 1
        assert [(row["status"], row["missed"]) for row in rows] == [("missed", "31")] * 2
        assert "out of reach" in rows[0]["message"]

    def test_every_work_can_be_sent_and_has_the_columns_that_its_verb_names(self, tmp_path):
        words = foot_planting.TerrainOptions("slope:5", None, None, None, None, None)
        given = (("up", None), ("metre", None), ("stretch", 0.0), ("in_place", "keep"))
        options = {"tolerance": None, "angle_tolerance": None, "free_root": False, "prefer": "first", "seeds": None}
        reach = GoalOptions("LeftHand", None, (0.3, 1.2, 0.3), None, None, None, None, None, near=False, goal_texts=())
        works = {
            "convert": PLAIN,
            "plant": foot_planting.PlantJob("plant", words, None, None, given, strict=False),
            "lock": foot_planting.PlantJob("lock", None, None, ("left",), given, strict=True),
            "retarget": retarget.RetargetJob(FIGURE, None, None, "none", "travel", "touch", "auto", None, strict=False),
            "solve": solve.SolveClipJob(
                reach, (), None, None, False, ("auto", (), None, None), (), (*options.items(), ("threads", None))
            ),
        }
        assert works.keys() == BATCH_COMMANDS.keys()
        for name, work in works.items():
            again = pickle.loads(pickle.dumps(work))  # noqa: S301
            assert repr(again) == repr(work)
            row = again(WALK, tmp_path / f"{name}.bvh")
            assert set(BATCH_COMMANDS[name].columns) <= set(row)
            assert set(BATCH_COMMANDS[name].sort_columns) <= set(BATCH_COMMANDS[name].columns)
            json.dumps(row)


class TestInterrupted:
    def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(self, takes, tmp_path, here, monkeypatch):
        whole = running.iterate_completed
        new = ("convert", takes, "-o", tmp_path / "new", "--format", "glb")

        def stopped(*given, **options):
            everything = whole(*given, **options)
            for _ in range(3):
                yield next(everything)
            raise KeyboardInterrupt

        monkeypatch.setattr(running, "iterate_completed", stopped)
        code, _, errors = run(*new)
        assert code == 130
        assert "stopped: 3 of 4 are finished and kept; the same command resumes" in errors
        assert not (tmp_path / "new" / "poise-convert.csv").exists()
        kept = (tmp_path / "new" / "a.glb").stat().st_mtime_ns
        code, _, errors = run("convert", takes, "-o", tmp_path / "new", "--format", "glb", "--fps", "10")
        assert code == 2, "another job"
        assert "these outputs exist" in errors
        monkeypatch.setattr(running, "iterate_completed", whole)
        code, _, errors = run(*new)
        assert code == 1
        assert "resuming: 2 of 4 were finished" in errors  # the third one failed, and is tried again
        assert (tmp_path / "new" / "a.glb").stat().st_mtime_ns == kept
        assert run("convert", takes, "-o", tmp_path / "quiet", "--format", "glb")[0] == 1
        assert contents(tmp_path / "new") == contents(tmp_path / "quiet")

    @pytest.mark.long
    def test_files_that_failed_are_tried_again_and_no_other(self, takes, tmp_path):
        out = tmp_path / "new"
        new = ("convert", takes, "-o", out, "--format", "glb", "--processes", "1")
        assert run(*new)[0] == 1
        kept = (out / "a.glb").stat().st_mtime_ns
        assert run(*new, "--overwrite")[2].count("resuming") == 0, "all anew"
        assert (out / "a.glb").stat().st_mtime_ns > kept
        kept = (out / "a.glb").stat().st_mtime_ns
        (takes / "bad.bvh").write_bytes((takes / "a.bvh").read_bytes())
        code, text, errors = run(*new)
        assert (code, text.startswith("4 of 4 files good")) == (0, True)
        assert "resuming: 3 of 4 were finished" in errors
        assert (out / "a.glb").stat().st_mtime_ns == kept
        assert not list(out.glob(".*")), "the journal goes with the last failure"

    def test_a_file_that_changed_since_is_worked_on_again(self, takes, tmp_path):
        pairs = [FilePair(takes / "a.bvh", tmp_path / "a.glb"), FilePair(takes / "b.bvh", tmp_path / "b.glb")]
        with Journal(tmp_path, "convert", "w", pairs) as journal:
            for pair in pairs:
                pair.out.write_bytes(b"new")
                journal.add(pair, {"status": "ok"})
        with journal.path.open("a") as file:
            file.write('{"out": "cut o')
        again = Journal(tmp_path, "convert", "w", pairs)
        assert (again.is_resumed, len(again.rows_by_output)) == (True, 2)
        pairs[0].file.write_bytes(b"other")
        pairs[1].out.unlink()
        assert Journal(tmp_path, "convert", "w", pairs).rows_by_output == {}
        assert not Journal(tmp_path, "convert", "other", pairs).is_resumed
        journal.path.write_bytes(b"\x00[3]\n5\n")
        assert not Journal(tmp_path, "convert", "w", pairs).is_resumed

    def test_what_was_half_written_is_swept_away_and_nothing_else(self, tmp_path):
        ours = (
            ".a.glb.poise-tmp-abc_1234",
            ".b.glb.poise-tmp-abc_1234",
            ".a.glb.poise-tmp-abc",
            ".aa.glb.poise-tmp-12345678",
        )
        for name in (*ours, ".a.glb.settings", ".a.settings", "a.glb", ".hidden"):
            (tmp_path / name).write_text("")
        remove_leftovers([tmp_path / "a.glb", tmp_path / "none" / "b.glb"])
        left = sorted(path.name for path in tmp_path.iterdir())
        assert left == sorted([*ours[1:], ".a.glb.settings", ".a.settings", "a.glb", ".hidden"])

    def test_a_run_leaves_hidden_files_of_others_alone(self, takes, tmp_path, here):
        out = tmp_path / "new"
        out.mkdir()
        mine = [out / name for name in (".a.settings", ".a.glb.settings", ".a.glb.poise-tmp-somebody")]
        for path in mine:
            path.write_text("mine")
        for more in ((), ("--overwrite",)):
            assert run("convert", takes / "a.bvh", "-o", out, "--format", "glb", *more)[0] == 0
        assert [path.read_text() for path in mine] == ["mine"] * 3

    def test_a_file_half_written_has_a_name_of_its_own(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Path, "replace", lambda path, _to: observed.append(path.name))
        monkeypatch.setattr(Path, "unlink", lambda _path, **_: None)
        observed = []
        (tmp_path / ".a.settings").write_text("mine")
        write_atomically(tmp_path / "a.glb", b"data")
        assert [path.name for path in find_leftovers([tmp_path / "a.glb"])] == observed
        assert find_leftovers([tmp_path / "b.glb"]) == []


def contents(folder):
    """Every file of a folder but for the folder's own name, which is in the table, and a journal, which has times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".journal"]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return {name: data.replace(str(folder).encode(), b"NEW") for name, data in files.items()}


JOBS = 60


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """60 walks, no two alike, long enough to be met in mid-work."""

    def make(folder):
        folder.mkdir()
        clip = poise.load(WALK).clips[0]
        for i in range(JOBS):
            poses = clip.at(np.linspace(0, 1, 150 + i))
            poise.save(poise.Clip.at_rate(poses, 120), folder / f"{i:02}.bvh")

    return once(tmp_path_factory, "library", make)


@pytest.fixture(scope="session")
def quiet(library, tmp_path_factory):
    """What a run that nobody disturbs makes of them."""

    def make(out):
        with begun(library, out) as process:
            assert process.wait() == 0

    return contents(once(tmp_path_factory, "quiet", make))


def begun(folder, out, **options):
    command = [sys.executable, "-m", "poise", "convert", folder, "-o", out, "--format", "glb", "--processes", "2"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def until(condition, process):
    end = time.monotonic() + PROCESS
    while not condition():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def finished(folder):
    return len(list(folder.glob("*.glb")))


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are looked up in /proc")
class TestKilled:
    """60 jobs in real processes: the same bytes as one quiet run, nothing lost, nothing twice."""

    def test_the_owner_half_way(self, library, quiet, tmp_path):
        out = tmp_path / "new"
        with begun(library, out) as process:
            until(lambda: finished(out) >= JOBS // 2, process)
            process.kill()
        done = finished(out)
        assert JOBS // 2 <= done < JOBS
        with begun(library, out) as process:
            _, errors = process.communicate()
        assert process.returncode == 0
        resumed = next(line for line in errors.splitlines() if line.startswith("resuming: "))
        assert int(resumed.split()[1]) >= JOBS // 2 - 4  # those in work when it died are done again
        assert contents(out) == quiet
        rows = table(out / "poise-convert.csv")
        assert len({row["file"] for row in rows}) == len(rows) == JOBS

    def test_a_worker_half_way(self, library, quiet, tmp_path):
        out = tmp_path / "new"
        with begun(library, out) as process:
            until(lambda: finished(out) >= JOBS // 2, process)
            os.kill(max(children(process)), signal.SIGKILL)
            assert process.wait() == 0
        assert contents(out) == quiet

    def test_ctrl_c_ends_within_two_seconds(self, library, quiet, tmp_path):
        out = tmp_path / "new"
        with begun(library, out, start_new_session=True) as process:
            until(lambda: finished(out) >= JOBS // 2, process)
            began = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all
            _, errors = process.communicate()
            assert time.monotonic() - began < 2
        assert process.returncode == 130
        assert errors.splitlines()[-1].endswith("are finished and kept; the same command resumes")
        assert "Traceback" not in errors
        assert not [path for path in out.glob(".*") if path.name != ".poise-convert.journal"]
        with begun(library, out) as process:
            assert process.wait() == 0
        assert contents(out) == quiet

"""Every example runs, and so does every Python and shell line of the README."""

from __future__ import annotations

import re
import runpy
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import cli
from poise.io import samples
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def case(value, text, name):
    """A parameter; long where its code asks for JAX."""
    return pytest.param(value, marks=[pytest.mark.long] if "jax" in text else [], id=name)


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", [case(path, path.read_text(encoding="utf-8"), path.stem) for path in EXAMPLES])
def test_example(path, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(path), str(tmp_path)])
    runpy.run_path(str(path), run_name="__main__")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the README's lines name, made from the samples."""
    for name in ("humanoid.glb", "humanoid.bvh", "humanoid.ik.toml", "arm.urdf", "hills.npz"):
        (tmp_path / name).write_bytes((Path(samples.__file__).parent / name).read_bytes())
    arm = poise.load(tmp_path / "arm.urdf").skeleton
    q = np.random.default_rng(0).uniform(*arm.value_ranges.T, (20, arm.nq))
    at = poise.Pose(arm, q).world_of("tool")
    np.save(tmp_path / "places.npy", np.concatenate([at.positions, at.rotations], axis=-1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder", "nobody")
@pytest.mark.parametrize("code", [case(code, code, str(i)) for i, code in enumerate(blocks("python"))])
def test_readme_python(code):
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102


def test_the_readme_has_code():
    assert len(blocks("python")) >= 2


@pytest.mark.usefixtures("folder", "nobody")
def test_readme_commands(capsys):
    lines = [line.split("#")[0] for block in blocks("bash") for line in block.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("poise ")]
    assert len(commands) >= 4
    for command in commands:
        with pytest.raises(SystemExit) as ended:
            cli.app(command[1:])
        assert ended.value.code in (0, None), command
    capsys.readouterr()


def test_readme_links_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target

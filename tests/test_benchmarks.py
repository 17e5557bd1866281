"""The benchmarks' own correctness: what they judge with, and that they run. Times are never asserted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import rotations

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def in_folder(monkeypatch, tmp_path):
    """Import the scripts as they are run, and keep their results out of the repository."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import harness

    monkeypatch.setattr(harness, "RESULTS", tmp_path / "results")
    yield
    for name in [name for name, module in sys.modules.items() if str(FOLDER) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


def test_five_axis_judges_and_keeps_ranges():
    import five_axis

    rows = {row["hinge"]: row for row in five_axis.run(60)}
    assert set(rows) == set(five_axis.SOLVERS)
    assert all(row["worst range violation [rad]"] <= 1e-9 for row in rows.values())
    assert rows["exact"]["reached [%]"] >= rows["project, classic form"]["reached [%]"]
    assert rows["exact"]["reached [%]"] > 90


def test_five_axis_arm_is_the_demos():
    import five_axis

    skeleton = five_axis.arm()
    zero = poise.Pose(skeleton, np.zeros(5)).world
    np.testing.assert_allclose(zero["tip"].positions, np.sum(five_axis._OFFSETS, axis=0), atol=1e-12)
    assert np.degrees([limit.high for limit in skeleton.limits[:5]]) == pytest.approx(five_axis._DEGREES)
    np.testing.assert_array_equal(five_axis.targets(skeleton, 5), five_axis.targets(skeleton, 5))


def test_the_chain_judge_agrees_with_the_library():
    import classic_ccd

    start = classic_ccd.chain(10, 1.5)
    q = rotations.normalised(np.random.default_rng(3).normal(size=(7, 10, 4)))
    pose = poise.Pose(start.skeleton, q.reshape(7, 40))
    np.testing.assert_allclose(classic_ccd.tips(3.0 * q, 1.5), pose.world["tip"].positions, atol=1e-12)
    np.testing.assert_allclose(classic_ccd.tips(q * 0.0, 1.5)[0], [0, 15, 0])  # a zero quaternion turns nothing


@pytest.mark.usefixtures("data")
def test_classic_ccd_runs_and_writes_its_table(monkeypatch, tmp_path):
    import classic_ccd

    def no_three(*_):
        raise RuntimeError("not asked for")

    monkeypatch.setattr(classic_ccd, "solve_with_three", no_three)
    assert classic_ccd.main(limit=20) == 0
    text = (tmp_path / "results" / "classic_ccd.md").read_text()
    assert "three.js left out: not asked for" in text
    assert text.count("poise CCD()") == 5


def test_the_yardstick_does_the_same_work():
    import sweep_cost

    try:
        sweep_cost.compiled()
    except RuntimeError as error:
        pytest.skip(str(error))
    wanted = sweep_cost.targets()[:40]
    for kind in (poise.Kind.BALL, poise.Kind.HINGE):
        row = sweep_cost.measure(kind, wanted, 1)[0]
        assert row["order"] == "tip-first"
        assert row["left, ours (median)"] == pytest.approx(row["left, C++"], rel=1e-2, abs=1e-8)


def test_a_missing_compiler_is_a_sentence(monkeypatch, capsys):
    import sweep_cost

    monkeypatch.setattr(sweep_cost.shutil, "which", lambda _: None)
    assert sweep_cost.main(1) == 0
    assert "no C++ compiler" in capsys.readouterr().err


def test_the_generated_bvh_has_96_channels(tmp_path):
    import loading

    path = tmp_path / "long.bvh"
    path.write_text(loading.bvh_text(3))
    rig = poise.load(path)
    assert len(rig.clips[0]) == 3
    assert len(path.read_text().splitlines()[-1].split()) == 96

"""The judge of planted clips: what was put into a result by hand is found, with its joint and its frame."""

from __future__ import annotations

import json

import numpy as np
import pytest

import poise


@pytest.fixture(scope="module")
def locked():
    rig = poise.load(poise.sample("humanoid"))
    return rig, poise.lock_feet(rig.clips[0], rig=rig)


@pytest.fixture
def scene(locked):
    """The source beside itself, on its own floor."""
    import planting_judge as judge

    rig, planted = locked
    scene = judge.build_scene(planted, rig)
    return scene._replace(result=judge.Track(scene.source.places.copy(), scene.source.turns.copy()))


def judged(scene):
    import planting_judge as judge

    return judge.judge_scene(scene)


def test_a_clip_beside_itself_has_no_faults(scene):
    found = judged(scene)
    assert max(part["mm"] for part in found["excess"].values()) <= 0.0
    assert found["pelvis"]["largest"] == 0.0
    assert found["skate"] == found["skate_source"] > 0.3
    assert found["depth"]["mm"] == pytest.approx(0.0, abs=1e-3)
    assert found["float"]["mm"] == pytest.approx(0.0, abs=1e-3)
    assert found["toe_bend"]["deg"] == found["toe_bend"]["source"]
    assert found["toe_pitch"]["deg"] == pytest.approx(0.0, abs=1e-6)
    assert found["toe_pitch"]["count"] > 0
    assert found["knee_bend"]["gain"] == 0.0
    assert found["support"]["lowest"] == pytest.approx(1.0, abs=0.01)
    assert len(found["events"]) > 2
    assert not any(event["hitch"] for event in found["events"])


def test_a_figure_faces_across_its_hips_and_nowhere_if_it_turns_round(scene):
    import planting_judge as judge

    way = scene.source.places[-1, scene.pelvis] - scene.source.places[0, scene.pelvis]
    way[scene.up] = 0.0
    facing = judge.find_facing(scene.source, scene.legs, scene.up)
    assert np.linalg.norm(facing) == pytest.approx(1.0)
    assert facing @ way > 0.95 * np.linalg.norm(way)
    half = np.diag([1.0 if axis == scene.up else -1.0 for axis in range(3)])
    both = judge.Track(np.concatenate([scene.source.places, scene.source.places @ half]), scene.source.turns)
    assert not judge.find_facing(both, scene.legs, scene.up).any()


def test_a_pop_is_found_with_its_joint_and_its_frame(scene):
    leg = scene.legs[0]
    scene.result.places[20, leg.knee] += 0.02 * scene.metre * np.eye(3)[scene.up]
    worst = judged(scene)["excess"]["knee"]
    assert (worst["joint"], worst["frame"]) == (f"{leg.name} knee", 20)
    assert worst["mm"] == pytest.approx(40.0, abs=worst["source"] + 5.0)


def test_a_lower_figure_is_found_by_pelvis_depth_and_support(scene):
    scene.result.places[..., scene.up] -= 0.03 * scene.metre
    found = judged(scene)
    assert found["pelvis"]["median"] == pytest.approx(30.0)
    assert found["pelvis"]["rise"] == pytest.approx(-30.0)
    assert found["depth"]["mm"] == pytest.approx(30.0, abs=1e-3)
    assert found["support"]["lowest"] == pytest.approx(1.0 - 0.03 / 0.9, abs=0.01)
    scene.result.places[..., scene.up] += 0.05 * scene.metre
    assert judged(scene)["float"]["mm"] == pytest.approx(20.0, abs=6.0)


def test_a_knee_that_waits_before_toe_off_has_a_hitch(scene):
    event = next(event for event in judged(scene)["events"] if event["kind"] == "toe-off")
    leg = next(leg for leg in scene.legs if leg.name == event["leg"])
    frame = event["frame"]
    scene.result.places[frame - 3 : frame, leg.knee] = scene.result.places[frame - 3, leg.knee]
    found = [(one["leg"], one["frame"]) for one in judged(scene)["events"] if one["hitch"] and one["kind"] == "toe-off"]
    assert found == [(leg.name, frame)]


def test_feet_that_slide_along_with_the_body_skate(scene):
    way = np.linspace(0.0, 0.4, len(scene.result.places))[:, None, None] * scene.metre * np.eye(3)[0]
    moved = scene._replace(result=scene.result._replace(places=scene.result.places + way))
    seconds = len(scene.result.places) / scene.rate
    assert judged(moved)["skate"] == pytest.approx(40.0 / seconds, abs=2.0)


def test_a_folded_toe_is_found(scene):
    leg = scene.legs[0]
    half = np.radians(80.0) / 2
    turn = np.array([np.cos(half), np.sin(half), 0.0, 0.0])
    import planting_judge as judge

    scene.result.turns[15, leg.toe] = judge.rotations.multiply(scene.result.turns[15, leg.toe], turn)
    found = judged(scene)["toe_bend"]
    assert (found["leg"], found["frame"]) == (leg.name, 15)
    assert found["deg"] == pytest.approx(80.0, abs=found["source"] + 1.0)


@pytest.mark.usefixtures("data")
@pytest.mark.long
def test_the_command_judges_some_clips(tmp_path, capsys):
    import planting_proofs

    rows, sheet = tmp_path / "rows.jsonl", tmp_path / "sheet.png"
    chosen = ["--clips", "pab_walk", "--grounds", "own,stairs-up"]
    assert planting_proofs.main([*chosen, "--again", "--json", str(rows)]) == 0
    told = capsys.readouterr().out
    assert "| 1 | excess of change of step, own floor [mm a frame] | 5 |" in told
    assert "hitch" in told
    found = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [row["ground"] for row in found] == ["own", "stairs-up"]
    assert all(row["again"] >= 0.0 for row in found)
    assert planting_proofs.main([*chosen, "--sheet", str(sheet)]) == 0
    assert sheet.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(SystemExit):
        planting_proofs.main(["--grounds", "moon"])
    assert "no ground 'moon'" in capsys.readouterr().err

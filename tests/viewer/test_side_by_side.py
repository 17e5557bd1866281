"""`poise view CLIP --onto TARGET`: source and target as one rig, their match, and what is changed in it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer.document.match_table import change_row, describe_retargeting, rebuild_pair
from poise.viewer.document.side_by_side import SOURCE_MARK, Retargeting, build_side_by_side, find_pair
from poise.viewer.rig_message import build_rig_message
from poise.viewer.session.state_messages import list_bad_stretches, list_contacts
from tests.command_line import run
from tests.viewer.watcher import watched

WALK, FIGURE, ARM = (samples.path(name) for name in ("humanoid.bvh", "humanoid.glb", "arm.urdf"))


@pytest.fixture(scope="module")
def retargeting():
    source = poise.load(WALK)
    return Retargeting(source, poise.load(FIGURE), source.clips[0].name)


@pytest.fixture
def document(retargeting):
    return build_side_by_side(retargeting)


def test_both_figures_are_in_one_clip_in_step(document, retargeting):
    pair = find_pair(document)
    world = pair.poses.world.positions
    count = 1 + len(retargeting.source.skeleton)
    np.testing.assert_allclose(world[:, count:], pair.done.poses.world.positions, atol=1e-12)
    source = pair.done.source.poses.world.positions
    body, target = pair.done.bodies
    lengths = np.linalg.norm(world[:, 3:count] - world[:, 2 : count - 1], axis=-1)
    scale = target.leg_length / body.leg_length
    np.testing.assert_allclose(lengths, scale * np.linalg.norm(source[:, 2:] - source[:, 1:-1], axis=-1), atol=1e-9)
    assert document.clip_name == pair.name
    assert not document.chains


def test_the_source_stands_to_the_right_of_the_target_at_its_height(document):
    pair = find_pair(document)
    names = pair.skeleton.names
    left = {name: pair.poses.world[name].positions for name in ("LeftFoot", f"LeftFoot{SOURCE_MARK}")}
    assert set(left) <= set(names)
    across = left["LeftFoot"][:, 0] - left[f"LeftFoot{SOURCE_MARK}"][:, 0]
    assert np.median(across) > pair.done.bodies[1].leg_length
    heights = [points[:, 1].min() for points in left.values()]
    assert heights[0] == pytest.approx(heights[1], abs=0.03)


def test_meshes_are_those_of_the_target(document, retargeting):
    message = build_rig_message(document.rig)
    own = build_rig_message(retargeting.target)
    count = 1 + len(retargeting.source.skeleton)
    assert message.message["nodes"] == [None] * count + own.message["nodes"]
    assert message.asset is not None
    shown = [joint["shown"] for joint in message.message["joints"]]
    assert sum(shown[:count]) >= len(retargeting.source.skeleton)
    assert shown[count:] == [joint["shown"] for joint in own.message["joints"]]


def test_matched_limbs_have_the_same_names_and_contacts_are_the_sources(document):
    described = describe_retargeting(document)
    limbs = described["limbs"]
    assert limbs["LeftForeArm"] == limbs[f"LeftForeArm{SOURCE_MARK}"] == "leftArm"
    assert limbs["RightFoot"] == limbs[f"RightFoot{SOURCE_MARK}"] == "rightLeg"
    assert "Head" not in limbs
    pair = find_pair(document)
    assert [row["foot"] for row in list_contacts(pair)] == ["left", "right"]
    assert len(described["rows"]) == len(pair.done.match)
    assert described["missed"] == {}
    assert list_bad_stretches(pair) == []


def test_what_is_missed_is_told_with_its_times(retargeting):
    pair = find_pair(build_side_by_side(dataclasses.replace(retargeting)))
    report = pair.done.report
    report.angles["leftLowerArm"][3:6] = report.bounds["leftLowerArm"] + 2.0
    document = build_side_by_side(retargeting).replace(rig=poise.Rig(pair.skeleton, pair.poses[0], (pair,)))
    times = [float(pair.times[3]), float(pair.times[5])]
    assert describe_retargeting(document)["missed"] == {"LeftForeArm": [times]}
    (stretch,) = list_bad_stretches(pair)
    assert (stretch["from"], stretch["to"], stretch["frame"]) == (*times, 3)
    assert "leftLowerArm is" in stretch["text"]


def test_a_changed_row_retargets_anew(document):
    changed = rebuild_pair(document, change_row(document, {"role": "leftHand", "turn": 30.0}))
    pairs = [find_pair(one) for one in (document, changed)]
    assert pairs[1].done.match["leftHand"].turn == 30.0
    assert not np.allclose(pairs[0].poses.q, pairs[1].poses.q)
    skipped = change_row(changed, {"role": "rightLowerArm", "skip": True, "turn": None})
    assert skipped.match["leftHand"].turn == 30.0
    for wrong, words in (
        ({"role": "leftWing"}, "no role 'leftWing'"),
        ({"role": "leftHand", "turn": 1000.0}, "turn is a number from -360 to 360"),
        ({}, "role is a text"),
    ):
        with pytest.raises(poise.PoiseError, match=words):
            change_row(document, wrong)
    with pytest.raises(poise.PoiseError, match="no joint for leftHand 'Nobody'"):
        rebuild_pair(document, change_row(document, {"role": "leftHand", "to": "Nobody"}))


def test_the_page_changes_a_row_in_one_step_of_undo(document):
    with watched(document) as page:
        page.until(lambda page: page.frame)
        page.send("match", role="leftHand", turn=30.0)
        page.until(lambda page: rows_of(page)["leftHand"]["turn"] == 30.0)
        page.send("undo")
        page.until(lambda page: rows_of(page)["leftHand"]["turn"] == 0.0)
        page.send("match", role="leftHand", to="Nobody")
        page.until(lambda page: any("no joint for leftHand 'Nobody'" in text for text in page.errors))
        assert page.studio.document is not None


def rows_of(page):
    return {row["role"]: row for row in page.state["retargeting"]["rows"]}


def test_a_page_of_a_pair_is_written(tmp_path):
    page = tmp_path / "pair.html"
    code, text, errors = run("view", WALK, "--onto", FIGURE, "--html", page)
    assert code == 0
    assert errors == "note: the clip walks in place; its feet go at 1.05 m/s: it stays there\n"
    assert f"written: {page}" in text
    assert page.stat().st_size > 100_000


def test_a_match_file_is_used_and_checked(tmp_path):
    table = tmp_path / "match.toml"
    poise.match(poise.load(WALK), poise.load(FIGURE)).with_joint("leftHand", turn=20.0).save(table)
    assert run("view", WALK, "--onto", FIGURE, "--match", table, "--html", tmp_path / "a.html")[0] == 0
    table.write_text(table.read_text().replace('to = "LeftHand"', 'to = "Nobody"'))
    code, _, errors = run("view", WALK, "--onto", FIGURE, "--match", table, "--html", tmp_path / "b.html")
    assert code == 2
    assert f"{table}: no joint for leftHand 'Nobody'" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--onto", FIGURE), "--onto takes a file with a clip"),
        ((WALK, "--match", "a.toml"), "give both"),
        ((WALK, "--onto", FIGURE, "--plant"), "--onto shows a clip of two figures: --plant is for one"),
        ((WALK, "--onto", ARM), f"error: {ARM}: the target has no known leftUpperLeg"),
        ((ARM, "--onto", FIGURE), f"error: {ARM}: holds no animation: there is nothing to retarget"),
        ((WALK, "--onto", "nobody.glb"), "nobody.glb: No such file"),
        ((WALK, "--onto", FIGURE, "--match", "no.toml"), "no.toml: No such file"),
        ((WALK, "--onto", FIGURE, "--clip", "run"), "no clip 'run'"),
    ],
)
def test_misuse_is_one_line(arguments, message, tmp_path):
    code, text, errors = run("view", *arguments, "--html", "a.html", cwd=tmp_path)
    assert (code, text) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1

"""Robots that others made: a few of them are asked, and what would be wrong is seen."""

from __future__ import annotations

import numpy as np
import pytest

import poise


@pytest.fixture
def panda(data):
    from robot_cases.robot_files import read
    from robot_cases.targets import limb_of

    return limb_of(read(data / "urdf" / "panda.urdf"), "panda_hand_tcp_joint")


def run(tmp_path, *arguments):
    import robot_targets_everywhere as everywhere

    sizes = everywhere.Sizes(robots=60, ways=3, million=500, corners=40, hard=300, beyond=5)
    code = everywhere.main([*arguments, "--file", str(tmp_path / "records.jsonl")], sizes)
    return code, (tmp_path / "results" / "robot_targets_everywhere.md").read_text()


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("robots", ["ur5", "panda", "h1_floating", "open_manipulator"])
def test_every_place_is_reached(tmp_path, robots):
    code, text = run(tmp_path, "--parts", "robots", "--only", robots)
    assert code == 0, text
    assert f"| test data | {robots} |" in text


@pytest.mark.usefixtures("data")
def test_every_part_has_its_table(tmp_path, monkeypatch):
    import robot_targets_everywhere as everywhere

    monkeypatch.setattr(everywhere, "MADE_UP", range(1))
    monkeypatch.setattr(everywhere, "NARROW", range(2))
    code, text = run(tmp_path, "--only", "panda")
    assert code == 0, text
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    assert [row[4] for row in rows if row[:2] == ["panda", "panda_hand_tcp_joint"]] == ["0"], "none missed"
    assert [row[3] for row in rows if row[0].endswith("narrow redundant arms")] == ["100", "100"]
    assert sum(row[:2] == ["panda", "points"] for row in rows) == 1


@pytest.mark.usefixtures("data")
def test_a_run_goes_on_where_it_stopped_and_tells_of_faults(tmp_path, monkeypatch):
    import robot_targets_everywhere as everywhere

    requested, judged = [], everywhere.judged

    def missing(limb, q, *rest):
        requested.append(limb.tip)
        return judged(limb, q + 1e-4, *rest)

    monkeypatch.setattr(everywhere, "judged", missing)
    for _ in range(2):
        code, text = run(tmp_path, "--parts", "robots", "--only", "ur5")
        assert code == 1
        assert "wrist_3_link-tool0_fixed_joint: 60 missed" in text
        assert "'single, missed': 3" in text
    assert len(requested) == 1 + 4 + 2


def test_the_judge_sees_what_is_wrong(panda):
    from robot_cases.evaluation import judged
    from robot_cases.targets import anywhere, places

    q = anywhere(panda, np.random.default_rng(0), 4)
    goal, start = places(panda, q), panda.rest.q
    assert judged(panda, q, goal, start).reached.all()
    off, beyond, other = q.copy(), q.copy(), q.copy()
    off[1, 0] += 2e-5
    assert judged(panda, off, goal, start).reached.tolist() == [True, False, True, True]
    beyond[2, 6] = panda.high[6] + 1e-3
    assert not judged(panda, beyond, places(panda, beyond), start).reached[2]
    other[3, 7] += 0.01
    assert not judged(panda, other, goal, start).reached[3], "a finger moved, which does not move the hand"


def test_whole_turns_are_detected_where_the_range_allows_less(data):
    from robot_cases.evaluation import needless_turn
    from robot_cases.robot_files import read, tips
    from robot_cases.targets import limb_of

    rest = read(data / "urdf" / "ur5.urdf")
    (tip,) = tips(rest.skeleton)
    limb = limb_of(rest, tip)
    start = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0])
    q = np.tile(start, (4, 1))
    q[1, 0] += 3.2  # the same place is nearer from the other side
    q[2, 0] -= 3.1
    q[3, 2] += 3.5  # its range is half a turn either way
    assert limb.high[[0, 2]] == pytest.approx([2 * np.pi, np.pi])
    assert needless_turn(limb, q, start).tolist() == [False, True, False, False]


def test_tips_are_tools_fingers_and_heads(data):
    from robot_cases.robot_files import moved_by, of_data, read, tips

    found = {file.name: file.path for file in of_data(data)}
    panda = read(found["panda"]).skeleton
    assert tips(panda) == ["panda_hand_tcp_joint", "panda_finger_joint1", "panda_finger_joint2"]
    assert len(moved_by(panda, "panda_finger_joint2")) == 8, "a finger, and the arm's seven joints"
    assert len(tips(read(found["solo12"]).skeleton)) == 4


def test_packages_are_found_in_a_folder(tmp_path):
    from robot_cases.robot_files import of_packages

    info = tmp_path / "icub_models-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: icub_models\nVersion: 1\n")
    names = ("../../share/iCub/robots/one/model.urdf", "two.urdf", "two.collision.urdf", "two.xacro")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    found = of_packages(tmp_path)
    assert [(file.package, file.name) for file in found] == [("icub-models", "one"), ("icub-models", "two")]
    assert found[0].path == tmp_path / "share" / "iCub" / "robots" / "one" / "model.urdf"


def test_corners_stand_at_ends(panda):
    from robot_cases.targets import corners, made_up

    rng = np.random.default_rng(1)
    for whole, least in ((True, 7), (False, 4)):
        values = corners(panda, rng, 50, all_of_them=whole)[:, panda.columns]
        assert ((values == panda.low) | (values == panda.high)).sum(axis=1).min() == least
    arm = made_up(3, 7, widths=(0.3, 1.5))
    assert isinstance(arm, poise.Pose)
    assert np.ptp(arm.skeleton.value_ranges, axis=1).max() <= 1.5

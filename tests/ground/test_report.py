"""The report of planted feet: text, JSON, the page and its charts, and the picture."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import poise
from poise import plot
from poise.ground.plant import Planted, plant_feet
from poise.ground.report import report
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import describe_terrain
from poise.io import samples
from poise.svg import charts as svg


@pytest.fixture(scope="module")
def rig() -> poise.Rig:
    return poise.load(samples.path("humanoid.bvh"))


@pytest.fixture(scope="module")
def planted(rig) -> Planted:
    return plant_feet(rig.clips[0], Terrain.slope(5.0), rig=rig)


def one_frame(rig) -> Planted:
    clip = rig.clips[0]
    return plant_feet(poise.Clip(clip.times[:1], clip.poses[:1], "still"), Terrain.flat(), rig=rig)


class Page(HTMLParser):
    """What a page is made of; fails where a tag is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


class TestText:
    def test_a_table_with_every_measure(self, planted):
        lines = str(planted.report).splitlines()
        assert lines[0] == f"2 legs (left, right), {len(planted)} frames, on a slope of 5 degrees"
        assert lines[1].split() == ["before", "after"]
        assert len({len(line.split("  x")[0]) for line in lines[1:12]}) == 1  # columns end in one place
        skate = next(line for line in lines if line.startswith("foot skate [cm/s]"))
        assert float(skate.split()[-1]) == pytest.approx(planted.report.after.skate, abs=0.005)
        assert lines[-1] == "bone lengths unchanged"

    def test_numbers_are_short(self):
        assert [report.number(value) for value in (0.004, -0.2, 3.14159, 99.99, 123.4, 12345.6)] == [
            "0", "-0.20", "3.14", "99.99", "123", "12,346",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("terrain", "words"),
        [
            (Terrain.flat(0.3), "flat ground"),
            (Terrain.slope(15), "a slope of 15 degrees"),
            (Terrain.slope(-7.5, direction=(1, 0, 1)), "a slope of 7.5 degrees, climbing along (-0.707, 0, -0.707)"),
            (Terrain.stairs(0.15, 0.3, direction=(-1, 0, 0)), "stairs, 0.15 up every 0.3, climbing along (-1, 0, 0)"),
            (Terrain.stairs(-0.15, 0.3), "stairs, 0.15 up every 0.3, climbing along (0, 0, -1)"),
            (Terrain.stairs(0.15, 0.3), "stairs, 0.15 up every 0.3"),
            (Terrain.noise(0.05), "bumps of 0.05"),
            (Terrain.heightmap(np.zeros((3, 3))), "a height map"),
            (Terrain.function(lambda x, z: x + z), "a function"),
        ],
    )
    def test_terrain_in_words(self, terrain, words):
        assert describe_terrain(terrain) == words

    def test_a_direction_is_reported_in_the_axes_of_the_clip(self):
        terrain = Terrain.slope(15, direction=(1, 0, 1))
        assert describe_terrain(terrain, "z") == "a slope of 15 degrees, climbing along (0.707, -0.707, 0)"

    def test_the_joint_that_is_moved_is_named(self, planted):
        renamed = dataclasses.replace(planted.report.motions[0].figure, mover="pel\nvis")
        motion = dataclasses.replace(planted.report.motions[0], figure=renamed)
        facts = dataclasses.replace(planted.report, motions=(motion, motion)).facts
        assert any(fact.startswith("Hips moved by at most") for fact in planted.report.facts)
        assert any(fact.startswith(r"pel\nvis moved by at most") for fact in facts)

    def test_a_stretched_bone_is_reported(self, planted):
        longer = dataclasses.replace(planted.report.changes, stretch=0.0123)
        assert "bone lengths changed by at most 1.2 %" in str(dataclasses.replace(planted.report, changes=longer))

    @pytest.mark.parametrize(
        ("before", "after", "message"),
        [
            (4.0, 6.0, "4.00 6.00 x1.50 at {}"),
            (1.0, 1.5, "1.00 1.50 x1.50 at {}"),
            (0.25, 1.5, "0.25 1.50 at {}"),  # x1.50 would be of 1 m/s^2, which nobody reads there
            (0.25, 0.5, "0.25 0.50 at {}"),
            (0.0, 0.0, "0 0 at {}"),
        ],
    )
    def test_a_ratio_is_that_of_the_numbers_beside_it(self, planted, before, after, message):
        joints = planted.report.changes.joints
        calm = np.tile([[before], [after]], (1, len(joints)))
        changes = dataclasses.replace(planted.report.changes, accelerations=calm, jerks=100 * calm)
        swing, jerk = (
            next(
                line for line in str(dataclasses.replace(planted.report, changes=changes)).splitlines() if name in line
            )
            for name in ("m/s^2", "m/s^3")
        )
        assert " ".join(swing.split("]")[1].split()) == message.format(joints[0])
        assert jerk.endswith("x1.50 at " + joints[0]) == ("x1.50" in message)


class TestJson:
    def test_every_number_of_the_measures(self, planted):
        known = json.loads(planted.report.to_json())
        assert known["legs"] == ["left", "right"]
        assert known["after"]["skate"] == planted.report.after.skate
        assert set(known["before"]) == {field.name for field in dataclasses.fields(planted.report.before)}
        worst = known["changes"]["worst_acceleration"]
        pair = known["changes"]["joints"][worst["joint"]]["acceleration"]
        assert worst["ratio"] == pytest.approx(pair[1] / max(pair[0], 1.0))

    def test_every_measure_has_a_unit_or_is_a_share(self, planted):
        known = json.loads(planted.report.to_json())
        changes = {*known["changes"], *next(iter(known["changes"]["joints"].values()))}
        without = {*known["before"], *changes} - known["units"].keys()
        assert without == {"contact", "stretch", "worst_acceleration", "worst_jerk", "joints"}
        keys = [
            "skate",
            "slip",
            "lift",
            "floating",
            "floating_mean",
            "penetration",
            "sunk",
            "backward",
            "knee_bend",
            "toe_bend",
            "acceleration",
            "jerk",
            "jumps",
        ]
        assert [row.unit for row in planted.report.rows] == [known["units"][key] for key in keys]

    def test_what_json_has_no_number_for_is_not_written(self, planted):
        spoilt = dataclasses.replace(planted.report.after, skate=float("nan"))
        with pytest.raises(ValueError, match="not JSON compliant"):
            dataclasses.replace(planted.report, after=spoilt).to_json()

    def test_one_frame_has_numbers_too(self, rig):
        assert json.loads(one_frame(rig).report.to_json())["changes"]["joints"]["Head"]["jerk"] == [0, 0]


class TestPage:
    def test_it_needs_nothing_beside_itself(self, planted, tmp_path):
        planted.report.to_html(tmp_path / "feet.html")
        text = (tmp_path / "feet.html").read_text(encoding="utf-8")
        page = Page(text)
        assert page.count("script") == page.count("link") == page.count("img") == 0
        assert not re.search(r"https?:|url\(|src=", text)
        assert page.count("figure") == 4  # height and speed of two feet
        assert page.count("polyline") == 4 * 4 + 4  # heel and ball, before and after, and the key
        assert sorted(tmp_path.iterdir()) == [tmp_path / "feet.html"]

    def test_names_and_notes_are_text(self, planted, tmp_path):
        odd = dataclasses.replace(planted.report, name='<b>"&', notes=("a < b & c",))
        odd.to_html(tmp_path / "odd.html")
        text = (tmp_path / "odd.html").read_text(encoding="utf-8")
        assert Page(text).count("b") == 0
        assert "a &lt; b &amp; c" in text

    @pytest.mark.parametrize("still", [True, False])
    def test_curves_stay_in_the_drawing(self, rig, planted, tmp_path, still):
        (one_frame(rig) if still else planted).report.to_html(tmp_path / "feet.html")
        text = (tmp_path / "feet.html").read_text(encoding="utf-8")
        for points in re.findall(r'points="([^"]+)"', text)[4:]:
            x, y = np.array([point.split(",") for point in points.split()], float).T
            assert 0 <= x.min() <= x.max() <= svg.WIDTH
            assert 0 <= y.min() <= y.max() <= 200

    def test_a_folder_that_is_not_there(self, planted, tmp_path):
        with pytest.raises(poise.FileError, match="cannot write here"):
            planted.report.to_html(tmp_path / "no" / "feet.html")


class TestChart:
    def test_bars_are_where_contacts_are(self):
        times, held = np.arange(11) / 10, np.arange(11) // 3 % 2 == 1  # 0.3 to 0.5 s and 0.9 to 1 s
        text = svg.draw_chart(times, [], [svg.Bars("heel", "heel", held)], "a < b", 0.0, 1.0)
        root = ET.fromstring(text)  # noqa: S314
        left, width = svg._LEFT_MARGIN_PX, svg.WIDTH - svg._LEFT_MARGIN_PX - svg._RIGHT_MARGIN_PX
        found = [(float(bar.get("x")), float(bar.get("width"))) for bar in root.iter("rect")]
        np.testing.assert_allclose(
            found, [(left + 0.25 * width, 0.3 * width), (left + 0.85 * width, 0.15 * width)], atol=0.1
        )
        assert root.get("aria-label") == "a < b"

    def test_what_is_far_outside_is_cut_at_the_edge(self):
        text = svg.draw_chart(np.arange(3.0), [svg.Curve("heel", np.array([0, 1e9, -1e9]))], [], "m", 0.0, 1.0)
        points = ET.fromstring(text).find("polyline").get("points")  # noqa: S314
        heights = [float(point.split(",")[1]) for point in points.split()]
        assert (
            svg._TOP_MARGIN_PX - 5
            < heights[1]
            < svg._TOP_MARGIN_PX
            < svg._TOP_MARGIN_PX + svg._PLOT_HEIGHT_PX
            == heights[0]
        )
        assert heights[0] < heights[2] < heights[0] + 5

    def test_long_curves_keep_their_peaks(self):
        values = np.zeros(100_000)
        values[[777, 31_416]] = [-3.0, 5.0]
        rows = svg._select_frames(values)
        assert len(rows) <= 2 * svg._MAX_DRAWN_FRAMES
        assert {777, 31_416} <= set(rows.tolist())

    def test_the_range_shows_what_comes_after_and_no_jump(self):
        after = np.sin(np.linspace(0, 20, 500)) + 1
        assert svg.choose_range(after, after) == pytest.approx((-0.06, 2.06), abs=0.01)
        jump = after.copy()
        jump[3] = 900.0
        assert svg.choose_range(jump, jump)[1] < 3
        low, high = svg.choose_range(after - 50, after)  # what came before is far below
        assert low == pytest.approx(2 - 3, abs=0.2)
        assert high == pytest.approx(2, abs=0.2)
        low, high = svg.choose_range(np.zeros(5), np.zeros(5))
        assert low < high


class TestPicture:
    @pytest.mark.long
    def test_the_same_every_time(self, planted, tmp_path):
        files = [tmp_path / f"{name}.svg" for name in "ab"]
        for file in files:
            plot.draw_feet(planted, file)
        assert files[0].read_bytes() == files[1].read_bytes()
        plot.draw_feet(planted, tmp_path / "c.png")
        assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")

    def test_a_figure_that_stands_still(self, rig, tmp_path, monkeypatch):
        monkeypatch.setitem(__import__("matplotlib").rcParams, "svg.fonttype", "none")  # words as words
        plot.draw_feet(one_frame(rig), tmp_path / "still.svg")
        text = (tmp_path / "still.svg").read_text()
        for words in ("before", "left leg", "right foot: speed along it [m/s]", "along the path [m]"):
            assert f">{words}</text>" in text

    def test_without_matplotlib(self, planted, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(poise.UnsupportedError, match=r"pip install 'poise\[plot\]'"):
            plot.draw_feet(planted, tmp_path / "a.png")
        assert list(tmp_path.iterdir()) == []

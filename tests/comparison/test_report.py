"""The page of a comparison: what it says, that its figures are those that were measured."""

from __future__ import annotations

import dataclasses
import re
from html import escape
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import poise
from poise import solvers
from poise.comparison.method import list_ability_groups
from poise.comparison.metrics import MethodRanks
from poise.comparison.peers.library_method import build_peer_methods
from poise.comparison.report import chart_drawing, diagrams, page_text, stick_figures
from poise.comparison.report.method_styles import build_styles, shorten_names
from poise.comparison.report.page import format_page
from poise.comparison.results import COLUMNS, format_heading, format_value
from poise.comparison.runs import ScalingPoint
from poise.io import samples
from poise.problem.goals import GOAL_NAMES
from tests.comparison.reports import EFFORT, HOSTILE, compared

DASH = "\N{EN DASH}"


@pytest.fixture(scope="module")
def arm():
    return poise.load(samples.path("arm.urdf")).rest


@pytest.fixture(scope="module")
def comparison(arm):
    """Methods that solve, one that lies, one that gives nothing, one that misses half, one that refuses."""
    return compared(arm)


@pytest.fixture(scope="module")
def page(comparison):
    return format_page(comparison)


class Reader(HTMLParser):
    """Tags, tables as rows of texts, and the text of each section; fails where a tag is not closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.tables, self.texts = [], [], [], {}
        self.section, self.cell = "", None
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in {"meta", "br", "wbr", "input"}:
            return
        self.open.append(tag)
        if tag == "section":
            self.section = dict(attrs)["id"]
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
            self.cell = True

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in {"td", "th"}:
            self.cell = None

    def handle_data(self, data):
        self.texts[self.section] = self.texts.get(self.section, "") + data
        if self.cell:
            self.tables[-1][-1][-1] += data


def drawings(page):
    """Each drawing, parsed."""
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]  # noqa: S314


def replaced(comparison, **changes):
    """The same with the same changes to every method."""
    methods = tuple(dataclasses.replace(method, **changes) for method in comparison.methods)
    return dataclasses.replace(comparison, methods=methods)


class TestPage:
    def test_it_is_well_formed(self, page):
        reader = Reader(page)
        assert len(drawings(page)) > 20
        ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        links = {attrs["href"] for tag, attrs in reader.tags if tag == "a"}
        assert links <= {f"#{name}" for name in ids}

    def test_it_asks_for_nothing_and_runs_nothing(self, page):
        reader = Reader(page)
        assert not re.search(r"https?:|//|url\(|@import|srcset|\bsrc=|<script|javascript:", page)
        assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
        assert not {tag for tag, _ in reader.tags} & {"script", "link", "img", "iframe", "object"}

    def test_every_number_of_every_drawing_is_one(self, page):
        assert not [found for found in drawings(page) if "nan" in ET.tostring(found, encoding="unicode")]
        assert not re.search(r'[ "(,]-?inf\b', "".join(re.findall(r"<svg.*?</svg>", page, re.DOTALL)))

    def test_all_names_stand_in_the_tables_and_are_escaped(self, comparison, page):
        assert HOSTILE not in page
        assert escape(HOSTILE) in page
        assert "arm &lt;i&gt;.urdf" in page
        first = [row[0] for table in Reader(page).tables for row in table]
        for method in comparison.compared:
            tables_of = 6 + (method.convergence is not None)  # five groups, what it supports, iterations
            assert first.count(method.name) == tables_of, method.name

    def test_it_opens_with_the_picture_that_answers(self, comparison, page):
        """Before any table: bars of all methods, best first, as long as their figures."""
        head = page[: page.index("<table")]
        assert head.index(escape(comparison.verdict)) < head.index("<svg")
        solved = {
            one.name: one.compute_solved_share()
            for one in comparison.compared
            if one.main is not None and len(one.main)
        }
        timed = {one.name: float(np.median(one.call_times)) for one in comparison.compared if one.call_times.size}
        for drawing, values in zip(drawings(head)[:2], (solved, timed), strict=True):
            bars = [bar for bar in drawing.iter("rect") if bar.get("class") == "length"]
            assert [bar[0].text.rpartition(": ")[0] for bar in bars] == list(values)
            lengths = [float(bar.get("width")) for bar in bars]
            by_length = sorted(zip(lengths, values.values(), strict=True))
            assert [value for _, value in by_length] == sorted(values.values())

    def test_those_that_refuse_say_why(self, comparison, page):
        (refused,) = comparison.refused
        assert ["two_bone", refused.refused] in [row for table in Reader(page).tables for row in table]

    def test_the_verdict_and_the_task_are_there(self, comparison, page):
        text = Reader(page).texts[""]
        assert comparison.verdict in text
        for part in ("Position of tool", "6 joints", "1e-06 m", "20: joint positions in random legal poses", "seed 0"):
            assert part in text

    def test_a_liar_is_named_with_its_true_error(self, comparison, page):
        run = comparison["liar"].main
        message = re.search(r"liar claims wrongly: .*? (\d+) targets .*? up to ([\d.e-]+) m\.", Reader(page).texts[""])
        assert int(message[1]) == len(run) == 20
        assert float(message[2]) == pytest.approx(run.errors.max(), rel=5e-3)
        assert "lost claims" not in page

    def test_no_answer_is_reported(self, page):
        assert "No answer came from lost for 20 targets." in page
        assert "no answer" in Reader(page).texts["poses"]

    def test_what_is_repeated_is_a_call_that_python_reads(self, comparison, page):
        text = Reader(page).texts["again"]
        call = text[text.index("rig =") : text.index("The same seed")]
        compile(call, "page", "exec")
        assert "poise.Position('tool', (0, 0, 0))" in call
        assert "['levenberg_marquardt', 'ccd', 'jacobian_transpose', 'two_bone']" in "".join(sorted_names(call))


def sorted_names(call):
    """The call with its solvers in the order of the page's methods made plain."""
    given = re.search(r"solvers=(\[.*?\])", call)[1]
    names = re.findall(r"'(\w+)'", given)
    order = ["levenberg_marquardt", "ccd", "jacobian_transpose", "two_bone"]
    return [str(sorted(names, key=order.index))]


class TestTables:
    def test_every_column_stands_in_a_group(self):
        grouped = [key for keys in page_text.COLUMN_GROUPS.values() for key in keys]
        assert sorted(grouped) == sorted(column.key for column in COLUMNS)

    def test_figures_are_those_of_the_rows(self, comparison, page):
        named = {row["method"]: row for row in comparison.rows()}
        columns = {format_heading(column, "m").replace(" ", ""): column for column in comparison.columns}
        observed = set()
        for table in Reader(page).tables[:5]:
            head = [title.replace(" ", "") for title in table[0]]
            for row in table[1:]:
                for title, text in zip(head, row, strict=True):
                    if title in columns:
                        value = named[row[0]][columns[title].key]
                        assert text in ({DASH, "none"} if value is None else {format_value(columns[title], value)})
                        observed.add(columns[title].key)
        assert observed == {column.key for column in comparison.columns}

    def test_ranks_are_those_of_the_comparison(self, comparison, page):
        solved, times = Reader(page).tables[:2]
        for method, left, right in zip(comparison.compared, solved[1:], times[1:], strict=True):
            ranks = method.ranks
            assert left[1:3] == [str(ranks.overall), str(ranks.solved)]
            assert right[1:3] == [str(ranks.call), DASH if ranks.batch is None else str(ranks.batch)]

    def test_the_best_is_marked_among_those_that_solve(self, comparison):
        (step,) = (column for column in COLUMNS if column.key == "step")
        able = page_text._select_eligible(comparison.compared)
        assert {method.name for method in able} >= {"levenberg_marquardt", "ccd"}
        assert not {"liar", "lost"} & {method.name for method in able}
        assert np.isnan(step.compute(comparison["liar"]))  # standing still is no smooth motion
        assert float(page_text._find_best(step, able)) > 0
        text = page_text.format_tables(comparison, build_styles(comparison.compared))
        for row in re.findall(r"<tr.*?</tr>", text):
            if ">liar<" in row or ">lost<" in row:
                assert "best" not in row
        assert "n best" in text

    def test_what_is_supported_is_what_solvers_declare(self, comparison):
        ability, handles = comparison["ccd"].does, solvers.make_solver("ccd").handles
        assert {name for name in GOAL_NAMES if ability[name]} == set(handles.goals)
        assert ability["soft"] == handles.soft
        assert set(ability) == {name for _, group in list_ability_groups() for name in group}
        assert comparison["liar"].does["several goals"]  # it declares that it can do everything
        table = page_text.format_support(comparison)
        assert table.count("\N{CHECK MARK}</td>") == sum(sum(m.does.values()) for m in comparison.methods)
        assert table.count('title="not said"') == 0

    def test_what_a_peer_can_do_comes_from_its_adapter(self, comparison):
        (peer,) = build_peer_methods(["ikpy"])
        assert peer.abilities["Position"]
        assert not peer.abilities["Aim"]
        assert peer.abilities["Range"]
        table = page_text.format_support(
            dataclasses.replace(comparison, methods=(dataclasses.replace(comparison["ccd"], does=peer.abilities),))
        )
        assert table.count('title="not said"') == len(comparison["ccd"].does) - len(peer.abilities)


class TestNotes:
    def test_libraries_beside_poise_stand_apart_with_their_settings(self, comparison):
        beside = dataclasses.replace(comparison["ccd"], name="ikpy 3 <x>", family="peer", text="a library; tol 1e-12")
        text = page_text.format_method_list(
            dataclasses.replace(comparison, methods=(comparison["levenberg_marquardt"], beside))
        )
        own, _, rest = text.partition("<h3>Other libraries")
        assert "levenberg_marquardt" in own
        assert "ikpy 3 &lt;x&gt;</b>: a library; tol 1e-12" in rest
        assert "Other libraries" not in page_text.format_method_list(comparison)

    def test_every_set_of_targets_is_reported(self, comparison):
        text = page_text.format_methodology(comparison)
        for one in comparison.task.sets.values():
            assert f"<b>{one.name}</b> ({len(one)} targets): {escape(one.text)}" in text


class TestWords:
    @pytest.mark.parametrize(("share", "text"), [(1, "100"), (0.9999, "99.9"), (0.59, "59"), (0, "0")])
    def test_what_is_not_all_is_never_100_percent(self, share, text):
        assert page_text.format_percent(share) == text

    @pytest.mark.parametrize(("us", "text"), [(11.64, "11.6 µs"), (999.9, "1 ms"), (45_600, "45.6 ms"), (2e6, "2 s")])
    def test_times_have_a_unit_that_fits(self, us, text):
        assert page_text.format_time(us) == text

    def test_short_names_are_short_and_differ(self):
        names = ["ccd", *(f"a very long name of a method, number {i}, of no use" for i in range(30))]
        found = shorten_names(names)
        assert found[0] == "ccd"
        assert len(set(found)) == 31
        assert max(map(len, found)) <= 20


class TestDrawings:
    @pytest.mark.parametrize("seed", range(5))
    def test_names_beside_curves_keep_apart_and_in_order(self, seed):
        wanted = np.random.default_rng(seed).uniform(0, 100, 12)
        found = chart_drawing.spread_labels(wanted, 10.0, 0.0, 120.0)
        order = np.argsort(wanted)
        assert (np.diff(found[order]) >= 10 - 1e-9).all()
        assert found.min() >= 0
        assert found.max() <= 120

    def test_names_that_have_room_stay(self):
        np.testing.assert_allclose(
            chart_drawing.spread_labels(np.array([80.0, 10.0, 40.0]), 10.0, 0.0, 100.0), [80, 10, 40]
        )
        np.testing.assert_allclose(chart_drawing.spread_labels(np.array([50.0, 52.0]), 10.0, 0.0, 100.0), [46, 56])

    def test_maps_hold_every_target_once(self, comparison):
        run = comparison["liar"].main
        nearly = dataclasses.replace(
            run, scores=np.linspace(0.5, 1.5, len(run))
        )  # missed is above 1, by however little
        methods = [
            dataclasses.replace(m, runs={**m.runs, "reachable": nearly}) if m.name == "liar" else m
            for m in comparison.methods
        ]
        comparison = dataclasses.replace(comparison, methods=tuple(methods))
        text = diagrams.draw_miss_maps(comparison, build_styles(comparison.compared))
        panels = re.findall(r'<figure class="m m\d+">.*?</figure>', text, re.DOTALL)
        worse = [m for m in comparison.compared if m.compute_solved_share() < 1]
        assert len(panels) == len(worse) >= 3
        for method, panel in zip(worse, panels, strict=True):
            found = [(int(a), int(b)) for a, b in re.findall(r"<title>(\d+) of (\d+) missed", panel)]
            missed = int((~(method.main.scores <= 1)).sum())
            assert (sum(a for a, _ in found), sum(b for _, b in found)) == (2 * missed, 2 * len(method.main))
            assert f"{missed} of 20 targets missed" in panel

    def test_bins_of_the_reach_hold_every_target_once(self, comparison):
        text = diagrams.draw_reach_charts(comparison, build_styles(comparison.compared))
        for method in comparison.compared:
            if method.compute_solved_share() < 1:
                panel = next(p for p in text.split("<figure") if escape(method.name)[:9] in p.replace("<wbr>", ""))
                found = [(int(a), int(b)) for a, b in re.findall(r"<title>(\d+) of (\d+) solved", panel)]
                assert sum(b for _, b in found) == 20
                assert sum(a for a, _ in found) == int((method.main.scores <= 1).sum())

    @pytest.mark.parametrize("shares", [[0.2, 0.5, 1.0], [0.5], [0.0, 0.0], [0.3, 1e9], [7.0, 7.01]])
    def test_bins_are_few_and_hold_all(self, shares):
        edges = diagrams._compute_bin_edges(np.array(shares))
        assert 2 <= len(edges) <= 14
        assert edges[0] <= min(shares)
        assert edges[-1] >= max(shares) * (1 - 1e-9)
        if max(shares) <= 1:
            np.testing.assert_allclose(np.diff(edges), 0.1)

    @pytest.mark.parametrize("offset", [(0, 0, 0), (0.1, 0.05, 0.2)])
    def test_poses_that_solve_end_at_the_target(self, arm, offset):
        goal = poise.Position("tool", (0, 0, 0), offset=offset)
        found = poise.compare(arm, goal, solvers=["levenberg_marquardt"], effort=EFFORT)
        text = stick_figures.draw_stick_figures(found, build_styles(found.compared))
        poses = [drawing for drawing in drawings(text) if "the pose" in drawing.get("aria-label", "")]
        assert len(poses) == 3
        for drawing in poses:
            limb = [path.get("d") for path in drawing.iter("path") if path.get("class") == "limb"]
            ring = next(one for one in drawing.iter("circle") if one.get("class") == "target")
            end = [float(number) for number in limb[-1].rsplit("L", 1)[1].split()]
            assert end == pytest.approx([float(ring.get("cx")), float(ring.get("cy"))], abs=0.2)

    def test_the_hardest_target_is_the_one_that_most_miss(self, comparison):
        runs = [method.main for method in comparison.compared]
        missed = sum((~(run.scores <= 1)).astype(int) for run in runs)
        easy, _, hard = stick_figures._choose_targets(runs)
        assert missed[easy] == missed.min()
        assert missed[hard] == missed.max() > missed.min()


class TestUnusual:
    def test_a_rotation_has_no_distance(self, arm):
        goal = poise.Orientation("tool", (1, 0, 0, 0))
        text = format_page(poise.compare(arm, goal, solvers=["levenberg_marquardt", "fabrik"], effort="quick"))
        reader = Reader(text)
        assert "A rotation" in reader.texts["reach"]
        assert "A rotation" in reader.texts["workspace"]
        assert text.count('class="axes wanted"') == 3
        assert 'class="target"' not in text

    def test_no_method_takes_the_task(self, comparison):
        empty = dataclasses.replace(comparison, methods=comparison.refused)
        reader = Reader(format_page(empty))
        assert "No method takes this task." in reader.texts[""]
        assert ["two_bone", comparison.refused[0].refused] in [row for table in reader.tables for row in table]
        Reader(format_page(dataclasses.replace(comparison, methods=())))

    def test_one_method(self, comparison):
        Reader(format_page(dataclasses.replace(comparison, methods=(comparison["levenberg_marquardt"],))))

    def test_nothing_was_measured(self, comparison):
        changes = {"runs": {}, "batches": {}, "convergence": None, "growth": (), "ranks": MethodRanks(1, 1, 1, None)}
        bare = replaced(comparison, calls=np.full((1, 1), 5.0), **changes)
        reader = Reader(format_page(bare))
        assert "None of these methods shows its iterations." in reader.texts["convergence"]
        assert "no poses" in reader.texts["poses"]

    def test_growth_and_batches_with_gaps(self, comparison):
        grown = (ScalingPoint(2, 1.0, 5.0, float("nan")), ScalingPoint(200, 0.5, 500.0, float("nan")))
        text = format_page(replaced(comparison, growth=grown, batches={}))
        assert Reader(text).texts["cost"].count("ball joints of the chain") == 1
        assert "dot open" in text

    def test_twenty_five_methods(self, comparison):
        first = comparison.compared[0]
        many = tuple(dataclasses.replace(first, name=f"a method with a long name {i}") for i in range(25))
        text = format_page(dataclasses.replace(comparison, methods=many))
        Reader(text)
        styles = {re.sub(r"^.m\d+, .k\d+", "", line) for line in re.findall(r"^\.m\d+, .*--d.*$", text, re.MULTILINE)}
        assert len(styles) == 25  # no two of a colour have a dash in common

    def test_saved_as_a_file(self, comparison, page, tmp_path):
        comparison.save(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text(encoding="utf-8") == page

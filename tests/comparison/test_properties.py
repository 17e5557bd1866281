"""The table of properties: sizes from sources, figures from comparisons, words from thresholds."""

from __future__ import annotations

import dataclasses
import math
import sys

import numpy as np
import pytest

import poise
from poise import solvers
from poise.comparison.metrics import Convergence
from poise.comparison.runs import QUICK, ScalingPoint
from poise.model.skeleton import Kind
from poise.solvers.base.interface import Capabilities
from tests.conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))
from property_table import sources, words
from property_table.table import Converging, OnChain, Properties, Property, converging, properties

NAN = float("nan")
TEXT = '''"""A docstring
of two lines."""

import math  # counted: there is code before the comment

# not counted


class A:
    """Not counted."""

    text = """counted
    twice"""

    def b(self):
        """Not
        counted."""
        return (
            math.pi
        )
'''


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_lines_are_those_with_code(monkeypatch):
    monkeypatch.setattr(sources, "_source", lambda _: TEXT)
    assert sources.lines("made.for.this.test") == 8  # import, class, text twice, def, return in three


def test_a_module_needs_what_it_imports_and_uses():
    found = sources.needs("poise.solvers.ccd")
    assert {
        "poise.problem.problem",
        "poise.kernels.ccd_position",
        "poise.kernels.ccd_goals",
        "poise.kernels.lanes",
    } <= found
    assert "poise.solvers.fabrik" not in found
    assert not any(module.startswith(("poise.jax", "poise.viewer", "poise.plot")) for module in found)


def test_imports_of_type_checkers_do_not_count():
    assert "poise.problem.problem" not in sources._imports("poise.solvers")
    assert "poise.solving.result" not in sources._imports("poise.solvers")  # named there below TYPE_CHECKING


@pytest.mark.long
def test_sizes_leave_out_what_all_need():
    found = sources.sizes([solvers.make_solver(name) for name in solvers.names()])
    assert set(found) == set(solvers.names())
    for name, size in found.items():
        source = (ROOT / "src" / "poise" / "solvers" / f"{name}.py").read_text(encoding="utf-8")
        assert 0 < size.own < len(source.splitlines())
        assert size.own < size.needed < 10_000
    assert found["anneal"].needed < found["two_bone"].needed < found["fabrik"].needed
    alone = sources.sizes([poise.CCD()])
    assert alone["ccd"] == found["ccd"]  # whoever else is in the table


# --- figures ---------------------------------------------------------------------------------------------------------


def curves(shares):
    return Convergence(np.array([shares]), 0.25, 0.5)


def test_a_closed_form_comes_in_one_step():
    assert converging(curves([1.0, 1e-12])) == Converging(1.0, math.inf, 0.25, 0.5)


def test_digits_an_iteration():
    steady = converging(curves(10.0 ** -np.arange(12.0)))
    assert steady.iterations == 3
    assert steady.digits == pytest.approx(1.0)
    squared = converging(curves([1.0, 1e-1, 1e-2, 1e-4, 1e-8, 1e-12]))
    assert squared == Converging(3.0, 3.0, 0.25, 0.5)


def test_what_never_comes_has_no_digits():
    assert converging(curves([1.0, 0.1, 0.05])) == Converging(math.inf, 0.0, 0.25, 0.5)
    assert converging(curves([1.0, 1e-4, 1e-5])).digits == 0.0


def hinges():
    """Three hinges within ranges, and a comparison of two methods on them."""
    skeleton = poise.Skeleton.build(
        ["a", "b", "c", "tip"], range(-1, 3), [Kind.HINGE] * 3 + [Kind.FIXED],
        offsets=[[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]], axes=[[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]],
        limits=[poise.Range(-1, 1)] * 3 + [None],
    )  # fmt: skip
    start = poise.Pose(skeleton, skeleton.rest_q)
    effort = dataclasses.replace(QUICK, reachable=10, path=10, extreme=5, joints=(2, 10), timed=3, traced=3)
    goal = poise.Position("tip", (0, 0, 0), root="a")
    return poise.compare(start, goal, solvers=["ccd", "two_bone"], effort=effort)


def test_figures_are_those_of_the_comparison():
    comparison = hinges()
    table = properties({"three": comparison})
    assert table.hinged == table.limited == ("three",)
    assert table.tried == (2, 10)
    ccd, two_bone = table.methods
    assert (ccd.name, two_bone.name) == ("ccd", "two_bone")
    assert ccd.handles == poise.CCD().handles
    assert two_bone.chains == {}  # it refuses three joints
    measured = comparison["ccd"]
    assert ccd.chains["three"].solved == measured.compute_solved_share()
    assert ccd.chains["three"].call == np.median(measured.calls.min(axis=0))
    assert ccd.chains["three"].batch == measured.batches[10].min()
    assert ccd.chains["three"].violation == measured.violation
    assert ccd.converging.rises == measured.convergence.rise_share
    assert ccd.grown == measured.growth
    assert two_bone.largest is None
    rows = words.rows(table)
    assert [row["method"] for row in rows] == ["`ccd`", "`two_bone`"]
    assert rows[0]["joint limits"].endswith(": held")
    assert rows[1]["number of joints"] == "-"
    assert words.figures(table)[0]["solved [%]"] == 100 * measured.compute_solved_share()
    assert [row["joints"] for row in words.growth_rows(table)] == [2, 10]


def test_no_comparison_is_a_sentence():
    with pytest.raises(poise.InputError, match="at least one comparison"):
        properties({})


# --- words -----------------------------------------------------------------------------------------------------------

GOOD = OnChain(1.0, 1.0, 1.0, 200.0, 3.0, 0.0, 0.1)
QUICKLY = Converging(5.0, 3.0, 0.0, 0.0)


def row(*, handles=None, one=GOOD, falling=QUICKLY, grown=(), name="made"):
    """The words of a method with these figures."""
    method = Property(name, "Made.", sources.Size(10, 1200), handles or Capabilities(), {"chain": one}, falling, grown)
    return words.rows(Properties((method,), ("chain",), ("chain",), 240, (2, 10, 20)))[0]


def test_words_of_a_good_method():
    found = row()
    assert found["lines"] == "10 (1,200)"
    assert found["speed"] == "200 \N{MICRO SIGN}s a call, 3 in a batch (chain)"
    assert found["hinge joints"] == "yes; chain: 100 %"
    assert found["singularities"] == "solves, 100 %; calm, 0.1 rad"
    assert found["convergence"] == "faster than linear, 5 iterations"
    assert found["number of joints"] == "-"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"singular": 0.949}, "misses some, 94.9 %; calm"),
        ({"stretched": 0.49}, "misses most, 49 %; calm"),
        ({"leaving": 0.31}, "solves, 100 %; jumps, 0.31 rad"),
        ({"leaving": 0.3}, "solves, 100 %; calm, 0.3 rad"),
        ({"leaving": NAN}, "solves, 100 %"),
    ],
)
def test_words_of_singular_poses(change, words):
    assert row(one=GOOD._replace(**change))["singularities"].startswith(words)


@pytest.mark.parametrize(
    ("falling", "words"),
    [
        (Converging(1.0, math.inf, 0.0, 0.0), "closed form: one step"),
        (Converging(2.0, math.inf, 0.0, 0.0), "faster than linear, 2 iterations"),
        (Converging(9.0, 1.9, 0.02, 0.1),
        "linear, 9 iterations; error rises after 2 % of them; 10 % of the targets stall"),
        (Converging(9.0, 0.0, 0.0, 0.0), "slower than linear, 9 iterations"),
        (Converging(math.inf, 0.0, 0.0, 1.0),
        "slower than linear, more than were followed; 100 % of the targets stall"),
        (None, "not shown"),
    ],
)  # fmt: skip
def test_words_of_convergence(falling, words):
    assert row(falling=falling)["convergence"] == words


def test_words_of_limits_and_hinges():
    assert row(one=GOOD._replace(violation=0.02))["joint limits"] == "EulerBox, Range, SwingTwist: left by 0.02"
    assert row(handles=Capabilities(limits=("Range",), soft=True))["joint limits"] == "Range, soft ones: held"
    assert row(handles=Capabilities(limits=()))["joint limits"] == "none"
    assert row(handles=Capabilities(joints=(Kind.BALL,)))["hinge joints"] == "no"


@pytest.mark.parametrize(
    ("times", "words"),
    [((10, 11), "slower (power 0.14)"), ((10, 20), "as their number (power 1.00)"), ((10, 40), "faster (power 2.00)")],
)
def test_words_of_growth(times, words):
    grown = [ScalingPoint(joints, 1.0, 500.0, time) for joints, time in zip((10, 20), times, strict=True)]
    assert row(grown=(ScalingPoint(2, 1.0, 500.0, 1.0), *grown))["number of joints"] == f"up to 20; time grows {words}"


def test_a_method_of_one_size():
    assert row(grown=(ScalingPoint(2, 1.0, 5.0, NAN),), name="two_bone")["number of joints"] == "2 only"


def test_what_is_not_solved_does_not_count_as_joints():
    grown = (ScalingPoint(2, 1.0, 5.0, NAN), ScalingPoint(10, 0.94, 5.0, NAN))
    assert row(grown=grown)["number of joints"].startswith("up to 2")
    assert row(grown=(ScalingPoint(10, 1.0, 5.0, NAN),), name="autodiff")["number of joints"] == "10 were measured"


def test_the_thresholds_are_in_the_notes():
    notes = " ".join(words.notes(Properties((), (), (), 240, (2, 10, 20))))
    for number in (words.HELD, words.CALM, words.FAST, *words.EVEN, 95, 240):
        assert f"{number:g}" in notes
    assert "2, 10 and 20 joints" in notes


# --- the benchmark that fills it -------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_benchmark_measures_every_chain(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("properties", "fabrik_table", "harness"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import properties as script

    little = dataclasses.replace(
        QUICK, reachable=5, path=5, extreme=3, rounds=1, timed=3, traced=2, seconds=0.2, batches=(1,)
    )
    table = script.measured(little, little, sizes=(2, 10), only="two_bone")
    (method,) = table.methods
    assert set(method.chains) == {"leg"}
    assert table.hinged == table.limited == ("10 hinges", "leg")
    assert words.rows(table)[0]["convergence"] == "closed form: one step"
    for name in ("properties", "fabrik_table", "harness"):
        monkeypatch.delitem(sys.modules, name, raising=False)

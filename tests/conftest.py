"""Shared fixtures: where the real data is."""

from __future__ import annotations

import gc
import os
import sys
import webbrowser
from collections import Counter
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import message_names, workload
from tests.workload import amount, draw, is_drawn

# no example has a time limit: a kernel compiles at its first call, and machines are busy; CI must not fail by chance
settings.register_profile(
    "poise",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    max_examples=amount(40, 100),
)
settings.load_profile("poise")
ROOT = Path(__file__).parent.parent
LONGEST = (  # groups of tests by how their names begin, those that take longest first
    "tests/packaging/test_versions.py",
    "tests/packaging/test_distributions.py::test_the_readme",
    "tests/viewer/test_viewer_benchmark.py",
    "tests/kernels/test_compiler_pipeline.py",
    (  # one worker builds; in another one, these would wait for it
        "tests/tools/test_library_build.py::test_a_fresh_build",
        "tests/tools/test_portable_bits.py::test_code_for_v3",
        "tests/tools/test_portable_bits.py::test_web_assembly",
    ),
    "tests/kernels/test_cuda.py",
    "tests/kernels/test_native_bits.py",
    "tests/contracts/test_resaving.py::test_every_file_that_loads",
    "tests/tools/test_random_problems.py::test_no_problem_of_thousands",
    "tests/docs/test_recipes.py",
    "tests/packaging/test_user_types.py",
    "tests/model/test_large_figures.py::test_thirty_thousand",
    "tests/viewer/test_page_soak.py",
    "tests/solving/test_soak.py",
    "tests/tools/test_mutations.py::test_a_mutant_that_matters",
    "tests/solvers/test_lm_engine.py::test_four_lanes",
)
HALVED = (  # of the long tests whose names begin so, a commit draws each second one
    "tests/viewer/test_page_",
    "tests/viewer/test_saved_appearance.py",
    "tests/docs/test_try_browser.py",
    "tests/comparison/test_peers.py",
    "tests/comparison/test_matplotlib_figure.py",
    "tests/kernels/test_tree_",
    "tests/kernels/test_operators.py",
    "tests/io/test_gltf_write.py",
    "tests/cli/test_cli_batch.py::TestKilled",
    "tests/batch/test_cluster.py",
    "tests/jax/",
)
WHOLE = (  # but not of these, of one test, or that draw for themselves
    *(f"tests/viewer/test_page_{name}.py" for name in ("soak", "match", "robots", "drag", "axe", "load", "chains")),
)
QUICK_CASES = 4  # cases of a test in a quick run: with all of them it takes a third longer
WANT = "for want of test data"  # in every reason of a test that was skipped for that
NEEDS_ALL = (ROOT / "tests" / "docs", ROOT / "tests" / "jax")
message_names.record_messages()

if "PYTEST_XDIST_WORKER" in os.environ:
    from tests.shared_kernel_cache import compile_once, locked

    compile_once()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(collector):
        """Workers read a module of tests one after the other: the first writes down what pytest makes of its asserts.

        All begin with the same module, and each would make it for itself: a third of a new checkout's collection.
        """
        if sys.dont_write_bytecode or not isinstance(collector, pytest.Module):
            return (yield)
        with locked(collector.path.parent / "__pycache__" / f"{collector.path.stem}.lock"):
            return (yield)


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run long tests too, not only where their file is named")


def pytest_configure(config):
    """Decide what is drawn, for all workers: nothing is left out where files or folders are named."""
    named = [word for word in config.invocation_params.args if Path(str(word).partition("::")[0]).exists()]
    if named and not hasattr(config, "workerinput"):
        os.environ[workload.DRAWN_COMMIT] = ""
    workload.find_commit()


def pytest_ignore_collect(collection_path, config):
    """What is long as a whole and imports what only --all installs is not even read."""
    return True if collection_path in NEEDS_ALL and not config.getoption("all") else None


def pytest_collection_modifyitems(session, config, items):
    """Leave out what is long, unless its file is named on the command line, and what the commit does not draw."""
    for item in items:
        if "autodiff" in cases_of(item):
            item.add_marker("long")  # JAX compiles for seconds
            if find_spec("jax") is None:
                item.add_marker(pytest.mark.skip("JAX is not installed: scripts/test --all, or pip install jax"))
    if not config.getoption("all"):
        quick = {item for item in items if not item.get_closest_marker("long") or session.isinitpath(item.path)}
        keep(quick, items, config)
        keep(draw_cases(items), items, config)
    keep({item for item in items if is_tried(item)}, items, config)
    items[:] = longest_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def keep(kept, items, config):
    """Deselect the other items."""
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def draw_cases(items):
    """Draw some cases of each test, by the commit: what a quick run tries of tests with many."""
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {item for name, found in cases.items() for item in draw(name, found, QUICK_CASES)}


def is_tried(item):
    """Whether this commit tries a test, if its group is halved."""
    is_halved = item.nodeid.startswith(HALVED) and not item.nodeid.startswith(WHOLE)
    is_halved = is_halved and item.get_closest_marker("long")
    return not is_halved or is_drawn(item.nodeid, 2)


def pytest_collection_finish():
    """What is there before the first test stays: garbage is looked for among what tests make, a third of the work."""
    gc.collect()
    gc.freeze()


def longest_first(items, workers):
    """The groups of LONGEST at the head of each worker's share: what was begun last would go on alone at the end.

    What JAX compiles stands together, too: each worker compiles for itself, but no program twice. xdist's worksteal
    gives each worker the next so many tests, and later to who has none left some from an end.
    """
    groups = [[item for item in items if item.nodeid.startswith(name)] for name in LONGEST]
    first = {item for group in groups for item in group}
    groups.append([item for item in items if item not in first and needs_jax(item)])
    groups = [group for group in groups if group]
    known = {item for group in groups for item in group}
    rest, found = [item for item in items if item not in known], []
    for worker in range(workers):
        share = (len(items) - len(found)) // (workers - worker)
        head = [item for group in groups[worker::workers] for item in group]
        count = max(share - len(head), 0) if worker < workers - 1 else len(rest)
        found += head + rest[:count]
        rest = rest[count:]
    return found


def needs_jax(item):
    """Whether JAX compiles something for a test."""
    return "autodiff" in cases_of(item) or item.nodeid.startswith("tests/jax/")


def cases_of(item):
    """The words of a test's parameters."""
    case = getattr(item, "callspec", None)
    return [] if case is None else case.id.split("-")


def pytest_terminal_summary(terminalreporter, config):
    """Say what was left out, so that nobody takes the quick suite for all of it."""
    if not config.getoption("all"):
        terminalreporter.write_line("long tests were left out: pytest --all runs them, too")
    message = describe_missing_data(terminalreporter.stats.get("skipped", ()))
    if message:
        terminalreporter.write_line(message)


def describe_missing_data(skipped):
    """One line about the tests that were skipped for want of test data, by folder; empty where none was."""
    found = Counter(report.nodeid.split("/")[1] for report in skipped if WANT in str(report.longrepr))
    if not found:
        return ""
    counts = ", ".join(f"{folder} {count}" for folder, count in sorted(found.items()))
    count = "1 test was" if found.total() == 1 else f"{found.total()} tests were"
    return (
        f"{count} skipped for want of test data, real rigs, clips and robots in the folder POISE_DATA ({counts}); "
        "benchmarks/manifest.toml names those that are public"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Fail a test with a message that names something which does not exist."""
    result = yield
    unknown = message_names.take_unknown_names()
    if unknown:
        pytest.fail("names in messages that do not exist:\n" + "\n".join(unknown), pytrace=False)
    return result


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of real rigs and golden results; a test that needs it says so when it is not there."""
    return find_data()


def find_data() -> Path:
    """Find the folder of test data; the test is skipped where it is absent or has the public files only."""
    folder = Path(os.environ.get("POISE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"{WANT}: {folder} is no folder; set POISE_DATA")
    if not (folder / "golden").is_dir():
        pytest.skip(f"{WANT}: {folder} has no golden results, which are not public")
    return folder


@pytest.fixture
def unattended(monkeypatch):
    """Nobody looks at the viewer: no browser opens, loops and servers end soon."""
    import poise
    from poise.cli import view as serving

    frames = poise.View.frames
    monkeypatch.setattr(poise.View, "frames", lambda view, fps: islice(frames(view, fps), 3))
    monkeypatch.setattr(serving, "_wait", lambda: None)
    monkeypatch.setattr(webbrowser, "open", bool)


@pytest.fixture(scope="session")
def chromium():
    """The one browser of a process, which can have no more; tests that need one say so where there is none."""
    from tests.viewer.browser import ARGUMENTS, HEADLESS, MISSING

    if HEADLESS is None:
        pytest.skip(MISSING)
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=HEADLESS, args=list(ARGUMENTS))
        yield browser
        browser.close()

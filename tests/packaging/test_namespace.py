"""What `poise` shows: public names only, each imported when it is used, and the same for Python and type checkers."""

from __future__ import annotations

import ast
import importlib
import inspect
import operator
import pkgutil
import re
import subprocess
import sys

import pytest

import poise
from poise.model.limits import LIMIT_CLASSES
from poise.problem.goals import GOAL_CLASSES
from tests.workload import draw

HEAVY = ("numba", "trimesh", "matplotlib", "jax", "websockets", "typer", "rich", "asyncio", "http", "scipy", "numpy")
MODULES = {"errors", "extend", "plot", "rotations", "samples", "solvers"}


def fresh(code, *arguments):
    """What a new process prints, as words."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.split()


def imports_for_checkers():
    """Name -> module, as the type-checking imports of poise/__init__.py have them."""
    tree = ast.parse(inspect.getsource(poise))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = {}
    for line in block.body:
        assert isinstance(line, ast.ImportFrom)
        for name in line.names:
            assert name.asname == name.name, "`X as X` is what makes a name public to a type checker"
            assert name.name not in found
            found[name.name] = line.module
    return found


@pytest.mark.long
def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(poise) == sorted([*poise.__all__, "__version__"])
    assert list(poise.__all__) == sorted(poise.__all__)
    assert {name for name in poise.__all__ if inspect.ismodule(getattr(poise, name))} == MODULES
    code = "import poise, poise.viewer.view, poise.cli; print(*dir(poise))"
    assert fresh(code) == dir(poise), "what was imported does not show"


def test_the_imports_for_checkers_and_the_table_say_the_same():
    places = imports_for_checkers()
    values = {name: place for name, place in places.items() if name not in MODULES}
    assert values == {name: f"poise.{place}" for name, place in poise._MODULE_BY_NAME.items()}
    modules = {name: f"{place}.{name}" for name, place in places.items() if name in MODULES}
    assert modules == {name: f"poise.{place}" for name, place in poise._PUBLIC_MODULES.items()}


@pytest.mark.parametrize("name", poise.__all__)
def test_a_type_checker_finds_a_name_where_python_does(name):
    place = importlib.import_module(imports_for_checkers()[name])
    assert getattr(place, name) is getattr(poise, name)


def test_what_the_folders_hold_is_public():
    found = [*(type(poise.solvers.make_solver(name)) for name in poise.solvers.names()), *GOAL_CLASSES, *LIMIT_CLASSES]
    assert [kind for kind in found if getattr(poise, kind.__name__, None) is not kind] == []


def test_importing_poise_imports_nothing_heavy():
    code = "import sys; before = set(sys.modules); import poise; print(*sorted(set(sys.modules) - before))"
    found = fresh(code)
    light = ["poise", "poise.calls", "poise.calls.late_binding", "poise.runtime", "poise.runtime.version"]
    assert [name for name in found if name.partition(".")[0] == "poise"] == light
    assert not set(HEAVY) & set(found)


def test_the_names_one_solves_with_import_no_parts_of_python_that_a_single_solve_has_no_use_for():
    code = "import sys, numpy; before = set(sys.modules); import poise; poise.load, poise.solve, poise.Position\n"
    found = set(fresh(code + "print(*set(sys.modules) - before)"))
    assert "poise.solving.solve" in found
    unused = {
        "concurrent.futures",
        "difflib",
        "email",
        "importlib.metadata",
        "logging",
        "random",
        "tempfile",
        "tomllib",
    }
    assert not unused & found
    assert not set(HEAVY) & found


def test_reading_a_file_and_making_goals_does_not_import_what_solves_or_shows():
    code = (
        "import sys, poise; before = set(sys.modules)\n"
        "poise.load(poise.samples.path('arm.urdf')), poise.Position('tool', [0, 0, 0])\n"
        "print(*set(sys.modules) - before)"
    )
    found = set(fresh(code))
    assert "poise.io.registry" in found
    assert (
        not {"numba", "trimesh", "matplotlib", "jax", "websockets", "typer", "rich", "asyncio", "http.server"} & found
    )
    rooms = {name.split(".")[1] for name in found if name.startswith("poise.")}
    assert not rooms & {"solving", "ground", "comparison", "viewer", "cli", "plot", "jax", "machine"}, rooms


@pytest.mark.long
def test_a_name_is_found_in_a_process_that_used_no_other():
    """A name must not count on what another one imported: each is taken from a fresh copy of the package."""
    code = (
        "import os, sys\n"
        "import numpy, numpy.linalg, dataclasses, pathlib, inspect, enum, typing, json, importlib.metadata\n"
        "import poise\n"
        "failed = []\n"
        "for name in sys.argv[1:]:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        try:\n"
        "            exec(f'from poise import {name}')\n"
        "        except BaseException as error:\n"
        "            print(f'{name}: {error!r}', file=sys.stderr, flush=True)\n"
        "            os._exit(1)\n"
        "        os._exit(0)\n"
        "    failed += [name] * bool(os.waitpid(child, 0)[1])\n"
        "print(*failed)\n"
    )
    assert fresh(code, *draw("names that are found alone", poise.__all__, len(poise.__all__) // 3)) == []


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="module 'poise' has no attribute 'solv'") as caught:
        poise.solv  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("solv", poise), "so that Python asks: did you mean 'solve'?"
    assert not hasattr(poise, "solving_")
    with pytest.raises(ImportError, match="cannot import name 'Positon'"):
        from poise import Positon  # noqa: F401


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("fk", "poise.Pose.world"), ("forward_kinematics", "poise.Pose.world"), ("robot", "poise.load"),
        ("IK", "poise.solve"), ("Positon", "poise.Position"),
    ],
)  # fmt: skip
def test_names_of_other_libraries_lead_to_ours(name, suggestion):
    with pytest.raises(AttributeError) as caught:
        getattr(poise, name)
    assert str(caught.value).startswith(f"module 'poise' has no attribute '{name}'; did you mean {suggestion}")


def test_every_suggestion_exists():
    for suggestion in poise._FOREIGN_NAMES.values():
        operator.attrgetter(suggestion)(poise)


def public_callables():
    """Public functions, classes and their methods, by name."""
    found = {}
    for module in (poise, poise.extend, poise.plot, poise.rotations, poise.samples, poise.solvers):
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            found[f"{module.__name__}.{name}"] = value
            if inspect.isclass(value):
                found |= {f"{module.__name__}.{name}.{key}": one for key, one in inspect.getmembers(value, callable)}
    return {name: value for name, value in found.items() if not name.rpartition(".")[2].startswith("_")}


def test_defaults_in_signatures_are_plain():
    """A default reads as it is typed: 0.25 and no np.float64(0.25), and no address."""
    shown, seen = [], 0
    for name, value in public_callables().items():
        try:
            signature = inspect.signature(value)
        except (TypeError, ValueError):  # a class of C without one
            continue
        seen += 1
        defaults = {key: repr(one.default) for key, one in signature.parameters.items() if one.default is not one.empty}
        shown += [
            f"{name}: {key}={text}" for key, text in defaults.items() if re.search(r"\bnp\.|array\(| at 0x", text)
        ]
    assert seen > 300
    assert shown == []


def test_no_room_hides_a_function():
    """A submodule becomes an attribute of the package when it is imported, whoever imports it."""
    rooms = {module.name for module in pkgutil.iter_modules(poise.__path__)}
    assert rooms & set(poise.__all__) <= MODULES
    code = (
        "import poise.viewer.view, poise.solving.solve, poise.solving.bake, poise.comparison.compare, poise\n"
        "print(*(callable(found) for found in (poise.view, poise.solve, poise.bake, poise.compare)))"
    )
    assert fresh(code) == ["True"] * 4


def test_values_are_pickled_by_the_place_of_their_class():
    code = "import pickle, poise\ngoal = poise.Position('tool', [1.0, 2.0, 3.0])\nprint(pickle.dumps(goal).hex())"
    (text,) = fresh(code)
    code = f"import pickle; print(*pickle.loads(bytes.fromhex({text!r})).target)"
    assert fresh(code) == ["1.0", "2.0", "3.0"]


@pytest.mark.long
def test_everything_can_be_imported_at_once():
    code = "from poise import *; import poise; print(all(name in globals() for name in poise.__all__))"
    assert fresh(code) == ["True"]


@pytest.mark.long
def test_a_verb_brings_in_only_what_it_needs():
    """A newcomer's first call of the command line: the version without NumPy, solve without ground and page."""
    assert "numpy" not in fresh("import sys; import poise.cli; print(*sys.modules)")
    found = fresh("import sys; from poise.cli import load_command; load_command('solve'); print(*sys.modules)")
    assert "poise.solving.solve" in found
    assert [name for name in found if name.startswith(("poise.ground", "poise.viewer", "poise.plot", "numba"))] == []

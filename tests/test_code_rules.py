"""The rules that keep the house as it is: short files, imports that point down, everything once.

Each rule reads the sources below a folder and tells every breach. The package has none, and a rule that is broken on
purpose says so. import-linter keeps the order of the rooms; that it is asked without exceptions is a rule here.
"""

from __future__ import annotations

import ast
import importlib.util
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "src" / "poise"


def load_script(name: str) -> Any:
    """Load a script of scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


style = load_script("measure_style")  # the rules of names and sentences are its measures
MOST_FILES_ON_TOP, MOST_LINES = 9, 900
REGISTRIES = ("solvers", "problem/goals", "io/formats", "viewer/scenes", "comparison/peers/adapters")

# A pose is made in every step of a loop: its fields are set all at once.
OWN_FIELDS = {"model/pose.py": "make_unchecked", "solving/result.py": "Result"}


class Source(NamedTuple):
    """A file of the package: its path below it, and its text."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return style.parse(self.text)

    @property
    def room(self) -> str:
        """The folder as a module: `poise.io.gltf`."""
        return ".".join(["poise", *Path(self.path).parts[:-1]])


def sources(package: Path) -> list[Source]:
    """Every Python file below a folder; the viewer's page has none."""
    return [
        Source(path.relative_to(package).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    ]


def nodes(tree: ast.AST, inside: tuple[str, ...] = ()) -> Iterator[tuple[ast.AST, tuple[str, ...]]]:
    """Every node with the names of the functions and classes that it stands in."""
    for node in ast.iter_child_nodes(tree):
        yield node, inside
        named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        yield from nodes(node, (*inside, node.name) if named else inside)


# --- the rules -------------------------------------------------------------------------------------------------------


def top_folder_is_small(package: Path) -> list[str]:
    """Allow at most 9 files on top of the package."""
    count = len(list(package.glob("*.py")))
    return [f"{count} files on top"] if count > MOST_FILES_ON_TOP else []


def files_are_short(package: Path) -> list[str]:
    """Allow at most 900 lines a file."""
    counts = {each.path: each.text.count("\n") for each in sources(package)}
    return [f"{path} has {count} lines" for path, count in counts.items() if count > MOST_LINES]


def private_names_stay_at_home(package: Path) -> list[str]:
    """A name with a leading underscore is imported, or taken from a module, within its own folder only."""
    return [
        f"{each.path}:{line} takes {name} from {module}"
        for each in sources(package)
        for line, module, name in _private(each)
        if module != each.room and module.rpartition(".")[0] != each.room
    ]


def _private(source: Source) -> Iterator[tuple[int, str, str]]:
    """Line, module and name of what a file takes from modules of the package, where the name is private."""
    modules: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "poise":
            modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from ((node.lineno, node.module or "", name) for name in parts if _is_private(name))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and _is_private(node.attr):
            module = modules.get(node.value.id)
            if module is not None and _is_module(module):
                yield node.lineno, module, node.attr


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _is_module(name: str) -> bool:
    stem = PACKAGE.joinpath(*name.split(".")[1:])
    return stem.is_dir() or stem.with_suffix(".py").is_file()


def a_class_name_means_one_thing(package: Path) -> list[str]:
    """No two classes of the package share a name, private ones neither."""
    places: dict[str, list[str]] = defaultdict(list)
    for each in sources(package):
        for node in each.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(each.path)
    return [f"{name}: {', '.join(paths)}" for name, paths in places.items() if len(paths) > 1]


def what_is_remembered_is_in_one_place(package: Path) -> list[str]:
    """`__dict__` is for runtime/result_cache.py, unpickled values, values that set their own fields."""
    found: list[str] = []
    for each in sources(package):
        if each.path == "runtime/result_cache.py":
            continue
        for node, inside in nodes(each.tree):
            is_one = isinstance(node, ast.Attribute) and node.attr == "__dict__"
            if is_one and not {"__setstate__", OWN_FIELDS.get(each.path)} & set(inside):
                found.append(f"{each.path}:{node.lineno}")
    return found


def entries_do_not_import_each_other(package: Path) -> list[str]:
    """A file of a registry knows none of the others; what they share stands in the registry's base/."""
    found: list[str] = []
    for each in sources(package):
        folder = Path(each.path).parent.as_posix()
        if folder not in REGISTRIES or each.path.endswith("__init__.py"):
            continue
        others = {f"{each.room}.{path.stem}" for path in (package / folder).glob("*.py") if path.stem != "__init__"}
        found += [f"{each.path} imports {name}" for name in _imported(each.tree) if name in others]
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """Every name that is imported, and the modules that they are imported from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}


def numbers_are_not_copied(package: Path) -> list[str]:
    """No comment says that a number or a rule is written as it is elsewhere: it is imported from there."""
    words = ("as in kernels/", "array twin of")
    return [f"{each.path} says {word!r}" for each in sources(package) for word in words if word in each.text]


def modules_are_not_imported_by_a_literal_name(package: Path) -> list[str]:
    """Forbid `import_module("poise. ...")`: import-linter does not see it. Registries import names of files."""
    found: list[str] = []
    for each in sources(package):
        for node in ast.walk(each.tree):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                name = node.args[0].value
                if called in {"import_module", "__import__"} and str(name).split(".")[0] == "poise":
                    found.append(f"{each.path}:{node.lineno} imports {name} by string")
    return found


# --- names and sentences: measured by scripts/measure_style.py -------------------------------------------------------


def names_have_no_forbidden_words(package: Path) -> list[str]:
    """Forbid words without a meaning in the field in names: `told`, `asked`, `anew`."""
    sources = style.read_sources(package)
    return [f"{source.name}:{line} {name}" for source in sources for line, name in source.forbidden_names]


def function_names_are_not_participles(package: Path) -> list[str]:
    """Forbid function names of one participle: `moved`. Functions begin with a verb."""
    functions = (each for source in style.read_sources(package) for each in source.functions)
    return [f"{each.path}:{each.line} {each.name}" for each in functions if each.is_bare_participle]


def first_sentences_are_plain(package: Path) -> list[str]:
    """Allow at most 12 words and no relative clause in the first sentence of a docstring."""
    sentences = ((source.name, *each) for source in style.read_sources(package) for each in source.sentences)
    return [
        f"{path}:{line} {text}"
        for path, line, text in sentences
        if len(text.split()) > style.MAX_WORDS or style.RELATIVE.search(text)
    ]


def functions_take_few_parameters(package: Path) -> list[str]:
    """Allow at most 12 parameters. Public functions, commands and kernel entries keep theirs."""
    public = style.find_public_names(package)
    functions = (each for source in style.read_sources(package) for each in source.functions)
    return [
        f"{each.path}:{each.line} {each.name} has {each.parameters} parameters"
        for each in functions
        if each.parameters > style.MAX_PARAMETERS and not style.has_own_parameters(each, public)
    ]


def packages_have_docstrings(package: Path) -> list[str]:
    """Every `__init__.py` describes its package."""
    packages = (each for each in sources(package) if Path(each.path).name == "__init__.py")
    return [f"{each.path} has no docstring" for each in packages if not ast.get_docstring(each.tree)]


RULES: tuple[Callable[[Path], list[str]], ...] = (
    top_folder_is_small,
    files_are_short,
    private_names_stay_at_home,
    a_class_name_means_one_thing,
    what_is_remembered_is_in_one_place,
    entries_do_not_import_each_other,
    numbers_are_not_copied,
    modules_are_not_imported_by_a_literal_name,
    names_have_no_forbidden_words,
    function_names_are_not_participles,
    first_sentences_are_plain,
    functions_take_few_parameters,
    packages_have_docstrings,
)

# What breaks each rule: files of a package.
BREACHES: list[tuple[Callable[[Path], list[str]], dict[str, str], str]] = [
    (top_folder_is_small, {f"{name}.py": "" for name in "abcdefghij"}, "10 files on top"),
    (files_are_short, {"io/long.py": "x = 1\n" * 901}, "io/long.py has 901 lines"),
    (private_names_stay_at_home, {"io/a.py": "from poise.maths.arrays import _part"}, "io/a.py:1 takes _part"),
    (private_names_stay_at_home, {"io/a.py": "from poise.maths._hidden import part"}, "io/a.py:1 takes _hidden"),
    (private_names_stay_at_home, {"io/a.py": "from poise.maths import arrays\narrays._part"}, "io/a.py:2 takes _part"),
    (a_class_name_means_one_thing, {"a.py": "class Row: ...", "io/b.py": "class Row: ..."}, "Row: a.py, io/b.py"),
    (what_is_remembered_is_in_one_place, {"io/a.py": "def f(x):\n    x.__dict__['_known'] = 1"}, "io/a.py:2"),
    (what_is_remembered_is_in_one_place, {"model/pose.py": "def other(x):\n    x.__dict__"}, "model/pose.py:2"),
    (
        entries_do_not_import_each_other,
        {"solvers/a.py": "", "solvers/b.py": "from poise.solvers.a import A"},
        "solvers/b.py imports poise.solvers.a",
    ),
    (
        entries_do_not_import_each_other,
        {"solvers/a.py": "", "solvers/b.py": "from poise.solvers import a"},
        "solvers/b.py",
    ),
    (numbers_are_not_copied, {"io/a.py": "LIMIT = 14  # as in kernels/limits.py"}, "io/a.py says 'as in kernels/'"),
    (
        modules_are_not_imported_by_a_literal_name,
        {"model/a.py": "import importlib\nimportlib.import_module('poise.plot')"},
        "model/a.py:2 imports poise.plot by string",
    ),
    (
        modules_are_not_imported_by_a_literal_name,
        {"model/a.py": "from importlib import import_module\n\nimport_module('poise.plot').draw()"},
        "model/a.py:3",
    ),
    (names_have_no_forbidden_words, {"io/told.py": ""}, "io/told.py:1 told"),
    (names_have_no_forbidden_words, {"io/a.py": "def read_asked(): ..."}, "io/a.py:1 read_asked"),
    (names_have_no_forbidden_words, {"io/a.py": "class RowSeen: ..."}, "io/a.py:1 RowSeen"),
    (names_have_no_forbidden_words, {"io/a.py": "def read(*, anew): ..."}, "io/a.py:1 anew"),
    (names_have_no_forbidden_words, {"io/a.py": "\nSOONER_S = 1.0"}, "io/a.py:2 SOONER_S"),
    (names_have_no_forbidden_words, {"io/a.py": "def f(x):\n    x.is_already = 1"}, "io/a.py:2 is_already"),
    (names_have_no_forbidden_words, {"io/a.py": "import re as said"}, "io/a.py:1 said"),
    (function_names_are_not_participles, {"io/a.py": "def moved(): ..."}, "io/a.py:1 moved"),
    (function_names_are_not_participles, {"io/a.py": "class A:\n    def _kept(self): ..."}, "io/a.py:2 _kept"),
    (
        first_sentences_are_plain,
        {"io/a.py": f'"""{"Read the words of a file. " * 2}"""\ndef f():\n    """{"Read " * 13}."""'},
        "io/a.py:2 Read Read",
    ),
    (first_sentences_are_plain, {"io/a.py": '"""A file that moves."""'}, "io/a.py:1 A file that moves."),
    (
        functions_take_few_parameters,
        {"kernels/a.py": f"def f({', '.join(f'x{i}' for i in range(13))}): ..."},
        "kernels/a.py:1 f has 13 parameters",
    ),
    (packages_have_docstrings, {"io/__init__.py": "from poise.io.registry import load"}, "io/__init__.py has no"),
]


@pytest.mark.parametrize(
    "text",
    [
        "@kernel\ndef f({}): ...",  # an entry
        "class A:\n    def __init__(self, {}): ...",
    ],
)
def test_entries_and_constructors_keep_their_parameters(text, tmp_path):
    (tmp_path / "a.py").write_text(text.format(", ".join(f"x{i}" for i in range(13))), encoding="utf-8")
    assert functions_take_few_parameters(tmp_path) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_its_rules(rule):
    assert rule(PACKAGE) == []


@pytest.mark.parametrize(
    ("rule", "files", "message"), BREACHES, ids=[f"{rule.__name__}-{i}" for i, (rule, *_) in enumerate(BREACHES)]
)
def test_a_rule_that_is_broken_says_where(rule, files, message, tmp_path):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert any(breach.startswith(message) for breach in rule(tmp_path))


def test_every_rule_is_broken_once():
    assert {rule for rule, *_ in BREACHES} == set(RULES)


def test_imports_are_checked_without_exceptions():
    """import-linter sees every module, imports for type checkers too, and is told of no exception."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers, circles, *_ = settings["contracts"]
    assert settings["exclude_type_checking_imports"] is False
    assert layers["exhaustive"]
    assert layers["containers"] == circles["ancestors"] == ["poise"]
    assert circles["type"] == "acyclic_siblings"
    exceptions = {"ignore_imports", "exhaustive_ignores", "skip_descendants", "unmatched_ignore_imports_alerting"}
    assert not exceptions.intersection(key for contract in settings["contracts"] for key in contract)

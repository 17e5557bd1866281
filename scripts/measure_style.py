"""Measure how the code reads: sentences, names, imports, files and parameters.

    python scripts/measure_style.py                the package, each folder of it, and README.md
    python scripts/measure_style.py --worst 20     also the places that break a bar, at most 20 of each kind
    python scripts/measure_style.py --root DIR     another checkout

Public functions, commands of the command line and entry kernels keep their parameters and are counted apart.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

RELATIVE = re.compile(r"\b(that|which|whose|whom|who)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\n")
MAX_WORDS = 12  # of a first sentence
MAX_PARAMETERS, MANY_PARAMETERS = 12, 10  # a function has at most the first; few functions have more than the second
ENTRIES = ("kernel", "gil_kernel")  # decorators of kernels that Python calls

#: Words without a meaning in the field; they say how a value came about, not which one it is.
FORBIDDEN_WORDS = {
    "already", "anew", "asked", "nobody", "said", "seen", "somebody", "sooner", "told", "unfolded", "vain", "whoever",
}  # fmt: skip
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of snake_case and CamelCase names

#: One-word names in -ed or of irregular verbs that are verbs in the imperative, or nouns of the field.
IMPERATIVES = {"bed", "embed", "feed", "need", "read", "seed", "shed", "speed"}
IRREGULAR = {
    "begun", "bent", "bound", "brought", "built", "chosen", "done", "drawn", "driven", "felt", "found", "frozen",
    "given", "gone", "grown", "held", "hidden", "hung", "kept", "known", "laid", "left", "lent", "lost", "made",
    "meant", "met", "paid", "said", "seen", "sent", "shown", "shrunk", "sought", "spent", "spoken", "stood", "sunk",
    "swung", "taken", "taught", "thrown", "told", "torn", "understood", "worn", "written",
}  # fmt: skip


class Function(NamedTuple):
    """A function: where it is defined, its name, and what counts of its definition."""

    path: str
    line: int
    name: str
    parameters: int
    decorators: tuple[str, ...]
    in_class: bool

    @property
    def is_property(self) -> bool:
        """Return whether the function is read like a field."""
        return any(name.endswith(("property", "setter", "fixture")) for name in self.decorators)

    @property
    def is_bare_participle(self) -> bool:
        """Return whether the name is one participle: `moved`, `told`."""
        word = self.name.strip("_")
        if self.is_property or self.name.startswith("__") or "_" in word or word in IMPERATIVES:
            return False
        return word in IRREGULAR or (word.endswith("ed") and len(word) > 3)


@cache
def parse(text: str) -> ast.Module:
    """Parse a text once for all measures."""
    return ast.parse(text)


class Source:
    """One Python file and its counts."""

    def __init__(self, path: Path, name: str) -> None:
        self.name, self.text = name, path.read_text(encoding="utf-8")
        self.tree = parse(self.text)
        self.lines = self.text.count("\n")

    @cached_property
    def import_lines(self) -> int:
        """Lines of import statements."""
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom))
        return len({line for node in found for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)})

    @cached_property
    def sentences(self) -> list[tuple[int, str]]:
        """Line and first sentence of each docstring."""
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
        documented = [(node, ast.get_docstring(node)) for node in ast.walk(self.tree) if isinstance(node, kinds)]
        return [
            (getattr(node, "lineno", 1), SENTENCE_END.split(text)[0].replace("\n", " "))
            for node, text in documented
            if text
        ]

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, nested ones included."""
        return list(self._functions(self.tree, in_class=False))

    @cached_property
    def forbidden_names(self) -> list[tuple[int, str]]:
        """Line and name of modules, functions, classes, parameters and variables with a forbidden word."""
        names = [(1, part) for part in Path(self.name).with_suffix("").parts]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append((node.lineno, node.name))
            elif isinstance(node, ast.arg):
                names.append((node.lineno, node.arg))
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.append((node.lineno, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.append((node.lineno, node.attr))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names += [(node.lineno, alias.asname) for alias in node.names if alias.asname]
        return [(line, name) for line, name in names if FORBIDDEN_WORDS & {w.lower() for w in WORD.findall(name)}]

    def _functions(self, node: ast.AST, *, in_class: bool) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = [*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs]
                count = sum(argument.arg not in {"self", "cls"} for argument in arguments)
                decorators = tuple(ast.unparse(each).partition("(")[0] for each in child.decorator_list)
                yield Function(self.name, child.lineno, child.name, count, decorators, in_class)
            yield from self._functions(child, in_class=isinstance(child, ast.ClassDef))


def read_sources(package: Path) -> list[Source]:
    """Read every Python file of a package, sorted by path."""
    return [Source(path, path.relative_to(package).as_posix()) for path in sorted(package.rglob("*.py"))]


def find_public_names(package: Path) -> set[str]:
    """Return the names that the package and its public modules list."""
    names: set[str] = set()
    for path in (package / "__init__.py", package / "extend.py", package / "jax" / "__init__.py"):
        names |= set(re.findall(r"""["'](\w+)["']""", path.read_text(encoding="utf-8"))) if path.exists() else set()
        names |= set(re.findall(r"\bas (\w+)", path.read_text(encoding="utf-8"))) if path.exists() else set()
    return names


def has_own_parameters(function: Function, public: set[str]) -> bool:
    """Return whether the parameters are an interface: of a user, of the command line or of compiled code."""
    is_entry = any(name in ENTRIES for name in function.decorators)
    is_command = function.path.startswith("cli/") and not function.name.startswith("_") and not function.in_class
    return is_entry or is_command or function.name in public or (function.in_class and function.name == "__init__")


class Figures(NamedTuple):
    """The measures of a group of files."""

    files: int
    lines: int
    imports: float  # share of lines
    median: float  # lines of a file
    words: float  # of a first sentence
    relative: float  # share of first sentences
    one_word: float  # share of function names
    participles: int
    over_twelve: int
    over_ten: int

    def format_row(self, name: str) -> str:
        """Format the measures as a row of the table."""
        cells = (
            self.files, self.lines, f"{self.median:.0f}", f"{100 * self.imports:.1f}", f"{self.words:.1f}",
            f"{100 * self.relative:.1f}", f"{100 * self.one_word:.0f}", self.participles,
            self.over_twelve, self.over_ten,
        )  # fmt: skip
        return format_cells(name, cells)


def format_cells(name: str, cells: Iterable[object]) -> str:
    """Format a row of the table."""
    return f"{name:20}" + "".join(f"{cell!s:>12}" for cell in cells)


HEADER = format_cells(
    "",
    (
        "files",
        "lines",
        "median file",
        "% imports",
        "words",
        "% relative",
        "% one-word",
        "participles",
        "over 12",
        "over 10",
    ),
)


def measure(sources: Iterable[Source], public: set[str]) -> Figures:
    """Measure a group of files."""
    group = list(sources)
    sentences = [sentence for source in group for _, sentence in source.sentences]
    functions = [each for source in group for each in source.functions if not each.name.startswith("__")]
    own = [each.parameters for each in functions if not has_own_parameters(each, public)]
    lines = sum(source.lines for source in group)
    return Figures(
        files=len(group),
        lines=lines,
        imports=sum(source.import_lines for source in group) / max(lines, 1),
        median=statistics.median([source.lines for source in group] or [0]),
        words=statistics.fmean([len(sentence.split()) for sentence in sentences] or [0]),
        relative=statistics.fmean([RELATIVE.search(sentence) is not None for sentence in sentences] or [0]),
        one_word=statistics.fmean(["_" not in each.name.strip("_") for each in functions] or [0]),
        participles=sum(each.is_bare_participle for each in functions),
        over_twelve=sum(count > MAX_PARAMETERS for count in own),
        over_ten=sum(count > MANY_PARAMETERS for count in own),
    )


def print_worst(sources: list[Source], public: set[str], count: int) -> None:
    """Print places that break a bar: names, long sentences, many parameters."""
    functions = [each for source in sources for each in source.functions]
    participles = [each for each in functions if each.is_bare_participle]
    wide = [each for each in functions if each.parameters > MANY_PARAMETERS and not has_own_parameters(each, public)]
    sentences = [(source.name, line, text) for source in sources for line, text in source.sentences]
    long = sorted(sentences, key=lambda each: -len(each[2].split()))
    forbidden = [f"{source.name}:{line} {name}" for source in sources for line, name in source.forbidden_names]
    clauses = [each for each in sentences if RELATIVE.search(each[2])]
    for title, lines in (
        ("bare participles", [f"{each.path}:{each.line} {each.name}" for each in participles]),
        ("names with forbidden words", forbidden),
        ("many parameters", [f"{each.path}:{each.line} {each.name} {each.parameters}" for each in wide]),
        ("long first sentences", [f"{path}:{line} {text}" for path, line, text in long]),
        ("relative clauses", [f"{path}:{line} {text}" for path, line, text in clauses]),
    ):
        print(f"\n{title}: {len(lines)}", *lines[:count], sep="\n  ")


def measure_readme(path: Path) -> str:
    """Describe README.md: lines, and words and relative clauses of its paragraphs' first sentences."""
    text = path.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    paragraphs = [each.strip() for each in prose.split("\n\n") if re.match(r"[A-Z`*\[]", each.strip())]
    first = [SENTENCE_END.split(each)[0].replace("\n", " ") for each in paragraphs]
    words = statistics.fmean(len(each.split()) for each in first)
    relative = statistics.fmean(RELATIVE.search(each) is not None for each in first)
    sentences = f"{words:.1f} words, {100 * relative:.0f} % with a relative clause"
    return f"README.md: {text.count(chr(10))} lines; first sentences of paragraphs: {sentences}"


def main() -> None:
    """Print the measures of a checkout."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parent.parent, help="a checkout")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="list up to N places of each kind")
    arguments = parser.parse_args()
    package = arguments.root / "src" / "poise"
    public, sources = find_public_names(package), read_sources(package)
    print(HEADER)
    print(measure(sources, public).format_row("package"))
    for folder in sorted({source.name.partition("/")[0] for source in sources if "/" in source.name}):
        group = [source for source in sources if source.name.startswith(f"{folder}/")]
        print(measure(group, public).format_row(f"  {folder}"))
    print(measure_readme(arguments.root / "README.md"))
    if arguments.worst:
        print_worst(sources, public, arguments.worst)


if __name__ == "__main__":
    main()

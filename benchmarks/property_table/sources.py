"""How large implementations are: lines of code, counted from the sources that run.

A line counts if it has code: empty lines, comments and docstrings do not. What a module needs is found in its syntax
tree: every module of the package that it imports, at the top or inside a function, and those in turn. Imports that
only type checkers see are left out.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import poise
from poise import solvers

_PACKAGE, _FOLDER = "poise", Path(poise.__file__).parent
_CHECKS = "poise.solving.arguments"  # of what people type
_KERNELS = "poise.kernels"  # its modules are used as attributes: kernels.ccd_position
_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
            tokenize.ENDMARKER)  # fmt: skip


class Size(NamedTuple):
    """Lines of code of a solver: its own file, and with the kernels and modules that it works with."""

    own: int
    needed: int


def sizes(values: Iterable[object]) -> dict[str, Size]:
    """Of solver values, by name.

    Where the house ends and a method begins: modules outside kernels/ that every solver of the folder needs (skeletons,
    problems, judging) are not counted, nor is what is needed only by them.
    """
    closures = [needs(f"{solvers.__name__}.{name}") for name in solvers.names()]
    house = {module for module in _common(closures) if not module.startswith(_KERNELS)} | {_CHECKS}
    return {str(getattr(value, "name", "")): _size(type(value).__module__, frozenset(house)) for value in values}


def _size(module: str, house: frozenset[str]) -> Size:
    return Size(lines(module), sum(map(lines, needs(module, house) | {module})))


def _common(closures: Sequence[frozenset[str]]) -> frozenset[str]:
    return closures[0].intersection(*closures[1:]) if closures else frozenset()


@cache
def lines(module: str) -> int:
    """Lines with code of a module; 0 where there is no source."""
    text = _source(module)
    if text is None:
        return 0
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            used.update(range(token.start[0], token.end[0] + 1))
    return len(used - set(_docstring_lines(ast.parse(text))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


@cache
def needs(module: str, without: frozenset[str] = frozenset()) -> frozenset[str]:
    """Every module of the package that a module needs, itself not counted; `without` some, and what only they need."""
    found: set[str] = set()
    ahead = [module]
    while ahead:
        new = _imports(ahead.pop()) - found - without
        found |= new
        ahead += new
    return frozenset(found - {module})


@cache
def _imports(module: str) -> frozenset[str]:
    text = _source(module)
    if text is None:
        return frozenset()
    found: set[str] = set()
    lazy = False
    for node in _observed(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inside if _path(name) is not None}
            lazy = lazy or _KERNELS in modules
            found |= modules or {node.module}
        elif isinstance(node, ast.Attribute) and lazy:
            found.add(f"{_PACKAGE}.{ast.unparse(node)}")
    return frozenset(name for name in found if _path(name) is not None)


def _observed(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs, imports first; not those below `if TYPE_CHECKING`."""
    nodes = [tree]
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            nodes += node.orelse
        else:
            nodes += ast.iter_child_nodes(node)
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    yield from imports
    yield from (node for node in nodes if isinstance(node, ast.Attribute))


@cache
def _path(module: str) -> Path | None:
    """The file of a module of the package; None for what is no module of it."""
    parts = module.split(".")
    if parts[0] != _PACKAGE:
        return None
    stem = _FOLDER.joinpath(*parts[1:])
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


@cache
def _source(module: str) -> str | None:
    """Of a module of the package, or of another that is importable, such as a solver of somebody else."""
    path = _path(module)
    if path is None and module in sys.modules:
        try:
            return inspect.getsource(sys.modules[module])
        except (OSError, TypeError):
            return None
    return None if path is None else path.read_text(encoding="utf-8")

"""Stamps of kernel sources. They tell whether machine code belongs to the present sources.

The stamp of the package covers every file of this folder with kernels. Where it differs from a library's, the stamps of
single kernels decide: they cover a kernel with all functions, classes and constants that it reaches, so an edit in one
kernel leaves the code of the others in use.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_PACKAGE = __name__.rpartition(".")[0]
_DECORATORS = "kernel", "gil_kernel"
_PACKAGES = "", "ground"  # folders with kernels; a name imported from one is a module

# These modules choose, load, report and cache kernels. The levels of a library are part of its build.
_UNSTAMPED_NAMES = frozenset(
    ("jit/compilation.py", "entries.py", "lazy_import.py", "levels.py", "native.py", "output.py", "stamps.py")
)
_COMPILER_FOLDER = "jit/"  # its files are part of every kernel's stamp


def _list_sources() -> list[tuple[str, Path]]:
    """List the stamped files as (name, path). Sorted, because folders list files in any order."""
    files = ((path.relative_to(_FOLDER).as_posix(), path) for path in _FOLDER.rglob("*.py"))
    return sorted((name, path) for name, path in files if name not in _UNSTAMPED_NAMES)


def has_sources() -> bool:
    """Return whether the sources are there. A program may be distributed without them."""
    return bool(_list_sources())


@cache
def compute_package_stamp() -> str:
    """Compute the stamp of all kernel files. It takes two milliseconds."""
    digest = hashlib.sha256()
    for name, path in _list_sources():
        digest.update(name.encode())  # a renamed file changes the program
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


@cache
def compute_kernel_stamps() -> dict[str, str]:
    """Compute the stamp of each kernel by name. It parses all files, a third of a second."""
    sources = _list_sources()
    compiler_text = "".join(
        path.read_text(encoding="utf-8") for name, path in sources if name.startswith(_COMPILER_FOLDER)
    )
    modules = {
        name.removesuffix(".py").replace("/", "."): _Module(path.read_text(encoding="utf-8"))
        for name, path in sources
        if not name.startswith(_COMPILER_FOLDER)
    }
    return {
        f"{module_name}.{kernel_name}": _hash_reached(modules, (module_name, kernel_name), compiler_text)
        for module_name, module in modules.items()
        for kernel_name in module.kernels
    }


class _Module:
    """Definitions and imports of a file."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.definitions: dict[str, list[ast.stmt]] = {}  # a name may be assigned in several statements
        self.imports: dict[str, tuple[str, str]] = {}  # name here: (module, name there)
        self.modules: dict[str, str] = {}  # name here: module, for `from poise.kernels import layout`
        self.kernels: list[str] = []
        for statement in ast.parse(text).body:
            self._add(statement)

    def _add(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(_PACKAGE):
            module_name = str(statement.module).removeprefix(_PACKAGE).removeprefix(".")
            for alias in statement.names:
                if module_name in _PACKAGES:
                    self.modules[alias.asname or alias.name] = f"{module_name}.{alias.name}".removeprefix(".")
                else:
                    self.imports[alias.asname or alias.name] = (module_name, alias.name)
            return
        if isinstance(statement, ast.Import | ast.ImportFrom):  # of another package: its text is part of the stamp
            for alias in statement.names:
                self.definitions[alias.asname or alias.name] = [statement]
            return
        if isinstance(statement, ast.FunctionDef) and any(map(_is_kernel_decorator, statement.decorator_list)):
            self.kernels.append(statement.name)
        for name in _list_assigned(statement):
            self.definitions.setdefault(name, []).append(statement)

    def get_text(self, statement: ast.stmt) -> str:
        """Return the text of a statement with its decorators."""
        decorators = getattr(statement, "decorator_list", None)
        first_line = decorators[0].lineno if decorators else statement.lineno
        return "\n".join(self.lines[first_line - 1 : statement.end_lineno])

    def list_references(self, module_name: str, statement: ast.stmt) -> Iterator[tuple[str, str]]:
        """List the definitions named in a statement, as (module, name)."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and (node.id in self.definitions or node.id in self.imports):
                yield module_name, node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self.modules:
                yield self.modules[node.value.id], node.attr


def _is_kernel_decorator(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(function, ast.Name) and function.id in _DECORATORS


def _list_assigned(statement: ast.stmt) -> Iterator[str]:
    """List the names defined by a statement of a module."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _hash_reached(modules: dict[str, _Module], kernel: tuple[str, str], compiler_text: str) -> str:
    """Hash the text of a kernel and of everything reached by it."""
    texts: dict[str, str] = {}
    waiting, reached = [kernel], {kernel}
    while waiting:
        module_name, name = waiting.pop()
        module = modules.get(module_name)
        if module is None:
            continue
        if name in module.imports and name not in module.definitions:
            references = {module.imports[name]}
        else:
            statements = module.definitions.get(name, [])
            texts[f"{module_name}.{name}"] = "\n".join(map(module.get_text, statements))
            references = {reference for each in statements for reference in module.list_references(module_name, each)}
        waiting += references - reached
        reached |= references
    digest = hashlib.sha256(compiler_text.encode())
    for name in sorted(texts):
        digest.update(f"{name}\n{texts[name]}\n".encode())
    return digest.hexdigest()[:32]

"""All mutants of a source: small changes of what it does, found in its syntax tree and made in its text.

Left alone are docstrings, annotations, imports, decorators, `__all__`, every text, whatever stands in a `raise`, mostly
the words of an error, and what only asserts: `assert`, `zip(strict=True)`.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import io
import re
import tokenize
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

COMPARED: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
WORKED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
}
SWAPPED = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all", "floor": "ceil", "sin": "cos"}
SWAPPED |= {"fmin": "fmax", "isfinite": "isnan"} | {new: old for old, new in SWAPPED.items()}
NAMES_TYPES = {"Annotated", "Literal", "NDArray", "Callable", "TypeVar", "NewType", "cast"}

LEFT_ALONE = (ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.JoinedStr)


class Mutant(NamedTuple):
    """One change: the text from `start` to `end` (characters from the file's beginning) becomes `new`."""

    path: str
    kind: str
    line: int
    start: int
    end: int
    old: str
    new: str
    lines: tuple[int, int]  # of the statement, or of its head, that it changes
    names: tuple[str, ...]  # what is assigned, where the change is none of a function's body
    function: tuple[int, int] | None  # first and last line of the body of the function that it belongs to
    scope: str  # the names of the classes and functions around it
    sign: str  # of its statement, and of its place in there: stays while other statements are edited

    @property
    def key(self) -> str:
        """Its name in files: where it stands, what it becomes, and its sign."""
        change = f"{' '.join(self.old.split())} -> {' '.join(self.new.split())}"
        return f"{self.path} {self.scope}: {change if len(change) <= 60 else change[:57] + '...'} #{self.sign}"

    def apply(self, text: str) -> str:
        """The mutated text of the file."""
        return text[: self.start] + self.new + text[self.end :]


def mutants(path: str, text: str) -> list[Mutant]:
    """All changes of a file in the order of its text; few of them are no other program, which `differs` tells."""
    finder = _Finder(path, text)
    finder.visit(finder.tree)
    found = {mutant.key: mutant for mutant in finder.found}
    return sorted(found.values(), key=lambda m: (m.start, m.end, m.new))


def differs(mutant: Mutant, text: str) -> bool:
    """Whether the mutated text of a file can be parsed, knows every name, and is another program."""
    bare = mutant.kind == "swapped" and text[mutant.start - 1] != "."
    if bare and not hasattr(builtins, mutant.new) and re.search(rf"\b{mutant.new}\b", text) is None:
        return False
    try:
        return ast.dump(ast.parse(mutant.apply(text))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


class _Finder(ast.NodeVisitor):
    """Walks a tree and notes the mutants of every node that may change."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text, self.tree, self.found = path, text, ast.parse(text), list[Mutant]()
        self.begins = [0]
        for line in text.splitlines(keepends=True):
            self.begins.append(self.begins[-1] + len(line))
        self.rows = text.splitlines(keepends=True)
        self.tokens: list[tuple[Any, ...]] = [
            (
                self.begins[token.start[0] - 1] + token.start[1],
                self.begins[token.end[0] - 1] + token.end[1],
                token.string,
            )
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type in {tokenize.OP, tokenize.NAME}
        ]
        self.statement: ast.stmt | None = None
        self.functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self.scope: list[str] = []
        self.twins = Counter[tuple[str, ...]]()  # statements of a scope that read the same
        self.nth = 0
        self.body = False  # whether the innermost function's body is walked, not its head

    # --- where things stand ------------------------------------------------------------------------------------------

    def place(self, line: int, column: int) -> int:
        """Characters before a line and a column, which the tree counts in bytes."""
        row = self.rows[line - 1]
        return self.begins[line - 1] + len(row.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def head(self, node: ast.stmt) -> tuple[int, int]:
        """The span of a statement; of one that holds others, that of what stands before them."""
        start, end = self.span(node)
        body = getattr(node, "body", None)
        return start, self.span(body[0])[0] if body else end

    def note(self, kind: str, start: int, end: int, new: str) -> None:
        statement = self.statement
        assert statement is not None
        line = self.text.count("\n", 0, start) + 1
        names: tuple[str, ...] = ()
        function = None
        if self.functions:
            body = self.functions[-1].body
            function = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        if not self.functions or not self.body:
            names = tuple(_assigned(statement))
        old, scope = self.text[start:end], ".".join(self.scope) or "module"
        offset = start - self.span(statement)[0]
        words = f"{self.text[slice(*self.head(statement))]}|{self.nth}|{offset}|{end - start}|{new}"
        sign = hashlib.sha256(words.encode()).hexdigest()[:6]
        lines = _lines(statement)
        self.found.append(Mutant(self.path, kind, line, start, end, old, new, lines, names, function, scope, sign))

    def between(self, left: ast.AST, right: ast.AST, words: str) -> tuple[int, int] | None:
        """Where an operator stands between two nodes."""
        low, high, parts = self.span(left)[1], self.span(right)[0], words.split()
        inside = self.tokens[bisect_left(self.tokens, (low,)) : bisect_left(self.tokens, (high,))]
        for i in range(len(inside)):
            here = inside[i : i + len(parts)]
            if [token[2] for token in here] == parts:
                return here[0][0], here[-1][1]
        return None

    def swap(self, kind: str, left: ast.AST, right: ast.AST, old: str, news: tuple[str, ...]) -> None:
        at = self.between(left, right, old)
        for new in news if at else ():
            self.note(kind, at[0], at[1], new)  # type: ignore[index]

    # --- what is walked ----------------------------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, LEFT_ALONE):
            return
        if isinstance(node, ast.stmt):
            before, nth = self.statement, self.nth
            twin = *self.scope, self.text[slice(*self.head(node))]
            self.statement, self.nth = node, self.twins[twin]
            self.twins[twin] += 1
            self.statement_of(node)
            self.statement, self.nth = before, nth
        else:
            self.expression(node)

    def statement_of(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case ast.Assign(targets=[ast.Name(id="__all__" | "__slots__")]):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node)
            case ast.ClassDef():
                functions, self.functions = self.functions, []
                self.scope.append(node.name)
                self.each(node.body)
                self.scope.pop()
                self.functions = functions
            case ast.AnnAssign():
                self.each([node.value])
            case _:
                self.simple(node)
                self.generic_visit(node)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """The defaults of its arguments, then its body."""
        self.functions.append(node)
        self.scope.append(node.name)
        before, self.body = self.body, False
        self.each([*node.args.defaults, *node.args.kw_defaults])
        self.body = True
        self.each(node.body)
        self.body = before
        self.scope.pop()
        self.functions.pop()

    def each(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def simple(self, node: ast.stmt) -> None:
        """What a statement itself may become."""
        match node:
            case ast.Break():
                self.note("loop", *self.span(node), "continue")
            case ast.Continue():
                self.note("loop", *self.span(node), "break")
            case ast.Return(value=ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()) as value):
                start, end = self.span(value)
                self.note("sign", start, end, f"-({self.text[start:end]})")
            case ast.AugAssign() if type(node.op) in WORKED:
                old, new = WORKED[type(node.op)]
                self.swap("arithmetic", node.target, node.value, old + "=", (new + "=",))
            case _:
                pass

    def expression(self, node: ast.AST) -> None:
        match node:
            case ast.Compare():
                for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                    old, news = COMPARED[type(op)]
                    self.swap("comparison", left, right, old, news)
            case ast.BinOp():
                if type(node.op) in WORKED and not (_is_text(node.left) or _is_text(node.right)):
                    old, new = WORKED[type(node.op)]
                    self.swap("arithmetic", node.left, node.right, old, (new,))
            case ast.BoolOp():
                self.bool_op(node)
            case ast.UnaryOp(op=ast.Not()) | ast.UnaryOp(op=ast.USub()):
                start, operand = self.span(node)[0], self.span(node.operand)[0]
                kind = "not" if isinstance(node.op, ast.Not) else "sign"
                head = self.text[start:operand]
                self.note(
                    kind, start, operand, head.replace("not ", "", 1) if kind == "not" else head.replace("-", "", 1)
                )
            case ast.Constant():
                self.constant(node)
            case ast.Call(func=ast.Name(id="zip")):
                self.each(node.args)
                return
            case ast.Call():
                self.call(node)
            case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NAMES_TYPES:
                return
            case _:
                pass
        self.generic_visit(node)

    def bool_op(self, node: ast.BoolOp) -> None:
        """Every `and` of one expression becomes an `or`, or the other way round."""
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        start, end = self.span(node)
        places = [self.between(a, b, old) for a, b in zip(node.values, node.values[1:], strict=False)]
        text, done = "", start
        for at in places:
            if at is None:
                return
            text, done = text + self.text[done : at[0]] + new, at[1]
        self.note("and/or", start, end, text + self.text[done:end])

    def constant(self, node: ast.Constant) -> None:
        value, (start, end) = node.value, self.span(node)
        if value is True or value is False:
            self.note("boolean", start, end, str(not value))
        elif isinstance(value, int):
            news = {0: ("1",), 1: ("0", "2")}.get(value, (str(value + 1), str(value - 1)))
            for new in news:
                self.note("constant", start, end, new)
        elif isinstance(value, float):
            for new in ("1.0",) if value == 0 else (repr(2 * value), repr(1.1 * value)):
                self.note("constant", start, end, new)

    def call(self, node: ast.Call) -> None:
        """min is max, and a keyword argument is left to its default."""
        name = node.func
        word = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
        if word in SWAPPED:
            end = self.span(name)[1]
            self.note("swapped", end - len(word), end, SWAPPED[word])
        for keyword in node.keywords:
            start, end = self.span(keyword)
            at = bisect_left(self.tokens, (end,))
            if keyword.arg is None or at == len(self.tokens):
                continue
            after = self.tokens[at]
            if after[2] == ",":
                self.note("argument", start, after[1], "")
            elif len(node.args) + len(node.keywords) == 1:
                self.note("argument", start, end, "")
            else:
                comma = next(token for token in reversed(self.tokens[:at]) if token[2] == "," and token[0] < start)
                self.note("argument", comma[0], end, "")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _lines(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement; of one that holds others, those of its head."""
    body = getattr(node, "body", None)
    last = node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, body[0].lineno - 1) if body else last


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                yield each.id

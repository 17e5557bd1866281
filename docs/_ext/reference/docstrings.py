"""What a docstring holds, and how it is written as Markdown.

Our docstrings are plain text: paragraphs, code with four blanks before it, and tables of two aligned columns,
`name  what it is`, whose lines go on indented; see `poise.solvers.base.parameters`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

_NAMES = r"\w+(?:, \w+)*"
_ROW = re.compile(rf"({_NAMES})(\s{{2,}})(\S.*)")
_TIGHT = re.compile(rf"({_NAMES}) (\S.*)")
_SPECIAL = re.compile(r"([\\*_<>\[\]$|~^#{}&])")


class Paragraph(NamedTuple):
    """Sentences."""

    text: str


class Code(NamedTuple):
    """Lines of Python."""

    text: str


class Table(NamedTuple):
    """Names and what is said of each; one row may speak of several names."""

    rows: tuple[tuple[tuple[str, ...], str], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(name for names, _ in self.rows for name in names)


Part = Paragraph | Code | Table


def parts(doc: str) -> list[Part]:
    """The parts of a docstring whose indentation is taken away (`inspect.getdoc`)."""
    found: list[Part] = []
    for block in re.split(r"\n[ \t]*\n", doc.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            found.append(Code("\n".join(line[4:] for line in lines)))
            continue
        begins = next((i for i, line in enumerate(lines) if _ROW.fullmatch(line)), len(lines))
        if begins:
            found.append(Paragraph(" ".join(line.strip() for line in lines[:begins])))
        if begins < len(lines):
            found.extend(_table(lines[begins:]))
    return found


def _table(lines: list[str]) -> list[Part]:
    """The rows that begin a list of lines, and the paragraph that follows them without an empty line, if any."""
    rows: list[tuple[tuple[str, ...], str]] = []
    column = 0
    for i, line in enumerate(lines):
        wide, tight = _ROW.fullmatch(line), _TIGHT.fullmatch(line)
        if wide:
            column = wide.start(3)
            rows.append((tuple(wide[1].split(", ")), wide[3]))
        elif line.startswith(" "):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        elif tight and tight.start(2) >= column:
            rows.append((tuple(tight[1].split(", ")), tight[2]))  # a name as long as its column
        else:
            return [Table(tuple(rows)), *parts("\n".join(lines[i:]))]
    return [Table(tuple(rows))]


def escaped(text: str, link: Callable[[str], str | None] = lambda _: None) -> str:
    """A text as Markdown: what stands between backticks is code, and linked where `link` gives an address for it."""
    pieces = re.split(r"(`[^`]+`)", text)
    written = ""
    for piece in pieces:
        if piece.startswith("`") and piece.endswith("`") and len(piece) > 1:
            address = link(piece[1:-1])
            written += piece if address is None else f"[{piece}]({address})"
        else:
            written += _SPECIAL.sub(r"\\\1", piece)
    return re.sub(r"^(\d*)([-+.)])(?=\s)", r"\1\\\2", written)  # what would begin a list


def markdown(doc: str, link: Callable[[str], str | None], facts: Mapping[str, str]) -> str:
    """A docstring as Markdown; `facts` is what is known of a name besides: its type and default."""
    return "\n\n".join(_part(part, link, facts) for part in parts(doc)) + "\n"


def _part(part: Part, link: Callable[[str], str | None], facts: Mapping[str, str]) -> str:
    if isinstance(part, Code):
        return f"```text\n{part.text}\n```"
    if isinstance(part, Paragraph):
        return escaped(part.text, link)
    items = [definition(", ".join(f"`{name}`" for name in names), _fact(names, facts), escaped(text, link))
             for names, text in part.rows]  # fmt: skip
    return "\n\n".join(items)


def _fact(names: tuple[str, ...], facts: Mapping[str, str]) -> str:
    known = dict.fromkeys(facts[name] for name in names if facts.get(name))
    return "; ".join(known)


def definition(term: str, fact: str, text: str) -> str:
    """A term with what it is in small print, and its text below it."""
    head = f'{term} <span class="fact">{fact}</span>' if fact else term
    body = text.strip().replace("\n", "\n  ").replace("\n  \n", "\n\n")
    return f"{head}\n: {body}"

"""Follow every link and include of the Markdown pages as they are in the repository: `python scripts/check_links.py`.

Prints one line for each: page, line, kind, target, and "dead" with the reason where nothing is found. Followed are
links, pictures, anchors of headings, what MyST directives include, entries of tables of contents, and names of files in
code marks. A file counts only if git tracks it or would add it. Addresses on the web are listed, not opened. The exit
code is 1 if a link is dead.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(r"^\s*(?P<ticks>`{3,}|~{3,}|:{3,})(?P<rest>.*)$")
_DIRECTIVE = re.compile(r"^\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)$")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(?P<text>.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*<?(?P<target>[^\s)>]+)>?[^)]*\)")
_PICTURE = re.compile(r"!\[[^\]]*\]\(\s*(?P<target>[^\s)]+)[^)]*\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(?P<target>[^\s>]+)")
_HTML = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=[\"'](?P<target>[^\"']+)[\"']")
_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})\s+(?P<text>.*?)\s*#*$")
_EXPLICIT = re.compile(r"^\((?P<name>[\w .:-]+)\)=\s*$|\bid=[\"'](?P<id>[^\"']+)[\"']")
_RST = re.compile(
    r"^\s*\.\. (?:include|literalinclude|image|figure|download)::\s*(?P<target>\S+)|:doc:`(?P<doc>[^`]+)`"
)
_MODULE = re.compile(r"^\.\. currentmodule:: (?P<module>\S+)$")
_DOCUMENTED = re.compile(r"^\.\. auto(?:class|function|exception):: (?P<name>\S+)$")
_NAMED = re.compile(r"(?:src|tests|docs|benchmarks|tools|scripts|examples|\.ci|\.github)/[\w./*-]+")
_CREATED = re.compile(r"^\s*\d+\. Create ")  # a step of a recipe, which names a new file
_INCLUDING = {"include", "literalinclude", "figure", "image", "download"}


class Link(NamedTuple):
    """A link of a page; `fault` is empty where it leads somewhere."""

    page: str
    line: int
    kind: str
    target: str
    fault: str


class Page(NamedTuple):
    """What a page has: anchors, and (line, kind, target) of everything that it refers to."""

    anchors: frozenset[str]
    targets: tuple[tuple[int, str, str], ...]


@cache
def list_files(root: Path) -> frozenset[str]:
    """List the files of a checkout: tracked ones and new ones that git does not ignore."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode == 0 and done.stdout:
        return frozenset(name for name in done.stdout.split("\0") if name and (root / name).is_file())
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return frozenset(path.as_posix() for path in found if not path.parts[0].startswith(".venv"))


def read_page(text: str) -> Page:
    """Read the anchors and targets of a Markdown page."""
    anchors: set[str] = set()
    headings: Counter[str] = Counter()
    targets: list[tuple[int, str, str]] = []
    current = ""
    for number, line, directive, is_argument in _walk(text):
        module = _MODULE.match(line)
        if module:
            current = module["module"]
        documented = _DOCUMENTED.match(line)
        if documented:
            anchors |= {documented["name"], f"{current}.{documented['name']}"}
        if directive:
            targets += [(number, kind, target) for kind, target in _read_directive(directive, line, is_argument)]
            continue
        heading = _HEADING.match(line)
        if heading:
            slug = make_slug(heading["text"])
            anchors.add(slug if not headings[slug] else f"{slug}-{headings[slug]}")
            headings[slug] += 1
        anchors.update(found["name"] or found["id"] for found in _EXPLICIT.finditer(line))
        targets += [(number, kind, target) for kind, target in _read_line(line)]
    return Page(frozenset(anchors), tuple(targets))


def _walk(text: str) -> Iterator[tuple[int, str, str, bool]]:
    """Iterate over (number, line, directive, whether it is the argument of that) outside of plain code."""
    open_ticks, directive = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and not open_ticks:
            open_ticks = fence["ticks"]
            found = _DIRECTIVE.match(fence["rest"].strip())
            directive = found["name"] if found else "code"
            if found:
                yield number, found["argument"], directive, True
        elif fence and fence["ticks"].startswith(open_ticks) and not fence["rest"].strip():
            open_ticks = directive = ""
        elif directive != "code":
            yield number, line, directive, False


def _read_directive(name: str, line: str, is_argument: bool) -> Iterator[tuple[str, str]]:
    if is_argument and name in _INCLUDING:
        yield name, line.strip()
    elif name == "toctree" and line.strip() and not is_argument and not line.startswith(":"):
        titled = re.search(r"<([^>]+)>\s*$", line)
        yield "toctree", titled[1] if titled else line.strip()
    elif name == "eval-rst":
        for found in _RST.finditer(line):
            doc = (found["doc"] or "").rpartition("<")[2].rstrip(">")
            yield ("include", found["target"]) if found["target"] else ("toctree", doc)
    elif name != "toctree":  # notes, tabs and captions have text with links
        yield from _read_line(line)


def _read_line(line: str) -> Iterator[tuple[str, str]]:
    for found in () if _CREATED.match(line) else _CODE.finditer(line):
        name = found["text"].rstrip("/")
        if _NAMED.fullmatch(name) and not re.search(r"\b[A-Z]{3,}\b(?!\.md)", name):
            yield "name", name
    plain = _CODE.sub(lambda found: "x" * len(found[0]), line)
    for found in _LINK.finditer(plain):
        yield "picture" if found["picture"] else "link", found["target"]
        yield from (("picture", inner["target"]) for inner in _PICTURE.finditer(found["text"]))
    for pattern in (_DEFINITION, _HTML):
        yield from (("link", found["target"]) for found in pattern.finditer(plain))


def make_slug(heading: str) -> str:
    """Make the anchor of a heading as GitHub and MyST do."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def follow_links(root: Path = ROOT) -> list[Link]:
    """Follow everything that the pages of a checkout refer to."""
    files = list_files(root)
    names = sorted(name for name in files if name.endswith(".md"))
    pages = {name: read_page((root / name).read_text(encoding="utf-8")) for name in names}
    return [
        Link(name, line, kind, target, _find_fault(name, kind, target, files, pages))
        for name, page in pages.items()
        for line, kind, target in page.targets
    ]


def _find_fault(page: str, kind: str, target: str, files: frozenset[str], pages: dict[str, Page]) -> str:
    if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("//"):
        return "" if re.match(r"https?://[\w.-]+|mailto:.+@", target) else "is no address"
    path, _, anchor = target.partition("#")
    where = target if kind == "name" else _join(page, unquote(path)) if path else page
    if where is None:
        return "leads out of the repository"
    pattern = f"{where.removesuffix('.md')}.md" if kind == "toctree" else where
    is_pattern = kind in {"name", "toctree"}
    if not any(file.startswith(f"{where.rstrip('/')}/") or file == pattern for file in files) and not (
        is_pattern and any(fnmatch(file, pattern) for file in files)
    ):
        return "no such file"
    if anchor and where in pages and unquote(anchor) not in pages[where].anchors:
        return f"no heading {anchor!r} in {where}"
    return ""


def _join(page: str, path: str) -> str | None:
    """Join a path to the folder of a page; None above the repository."""
    whole: list[str] = []
    parent = PurePosixPath() if path.startswith("/") else PurePosixPath(page).parent
    for part in (parent / path.lstrip("/")).parts:
        if part == "..":
            if not whole:
                return None
            whole.pop()
        elif part != ".":
            whole.append(part)
    return "/".join(whole)


def main() -> int:
    """Print every link; 1 where one is dead."""
    links = follow_links()
    for link in links:
        print(f"{link.page}:{link.line}: {link.kind} {link.target}{f'  DEAD: {link.fault}' if link.fault else ''}")
    dead = [link for link in links if link.fault]
    outside = sum(link.target.startswith("http") for link in links)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(link.kind for link in links).items()))
    print(
        f"{len(links)} links on {len({link.page for link in links})} pages ({counts}; {outside} on the web, not opened)"
    )
    print(f"{len(dead)} dead")
    return bool(dead)


if __name__ == "__main__":
    sys.exit(main())

"""Pages of measured figures, made from benchmarks/results: nothing is typed a second time.

docs/results/NAME.md has a benchmark or a tool: its question, the command that repeats it, its tables as they were
written.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from generated import write_pages
from sphinx.application import Sphinx

_ROOT = Path(__file__).parent.parent.parent
_BENCHMARKS, _TOOLS = _ROOT / "benchmarks", _ROOT / "tools"
_PAGES = _ROOT / "docs" / "results"


def names() -> list[str]:
    """Benchmarks that have results."""
    found = (path.stem for path in (_BENCHMARKS / "results").glob("*.md"))
    return sorted(name for name in found if name != "README")


def pages() -> dict[str, str]:
    """File name -> Markdown of everything that is made here."""
    return {f"{name}.md": _page(name) for name in names()}


def _page(name: str) -> str:
    text = (_BENCHMARKS / "results" / f"{name}.md").read_text(encoding="utf-8")
    title, _, tables = text.partition("\n")
    tables = re.sub(r"^#(#+ )", r"\1", tables, flags=re.MULTILINE)
    message = f"{_first_paragraph(name)}\n\nRepeat it with\n\n```bash\npython {_command(name)}\n```\n"
    return f"# {title.lstrip('# ')}\n\n{message}\n{tables.strip()}\n"


def _command(name: str) -> str:
    """Return the arguments of Python that repeat a measurement."""
    return f"tools/{name}.py" if (_TOOLS / f"{name}.py").is_file() else f"benchmarks/run.py {name}"


def _first_paragraph(name: str) -> str:
    """Read the first paragraph of the docstring of a benchmark or tool."""
    paths = (_BENCHMARKS / f"{name}.py", _TOOLS / f"{name}.py", _BENCHMARKS / name / "__init__.py")
    source = next(path for path in paths if path.is_file())
    doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())


def write(_app: Sphinx) -> None:
    """Write the pages."""
    write_pages(_PAGES, pages())


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the pages at the start of every build."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

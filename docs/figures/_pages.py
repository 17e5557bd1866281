"""Pages written from other sources: docs/results from benchmarks/results, docs/command-line from the commands.

They are in the repository, so that they can be read without a build. A test finds outdated ones.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import data_manifest

_ROOT = Path(__file__).parent.parent.parent
_BENCHMARKS, _TOOLS = _ROOT / "benchmarks", _ROOT / "tools"

# Gates compare with an old revision, which says nothing to a reader of the documentation.
LEFT_OUT = {"README", "regression_gates"}
_API = _ROOT / "docs" / "api"
_DOCUMENTED = re.compile(r"^\.\. auto(?:class|function|exception):: (\S+)$", re.MULTILINE)
_TYPER = ("-m", "typer", "poise.cli", "utils", "docs", "--name", "poise", "--title", "Command line")
_NOTE = "<!-- written by scripts/make_tables.py -->\n\n"


def find_results() -> list[str]:
    """Find benchmarks and tools with results."""
    found = (path.stem for path in (_BENCHMARKS / "results").glob("*.md"))
    return sorted(name for name in found if name not in LEFT_OUT)


def write_result_pages() -> dict[str, str]:
    """Write file name -> Markdown of every page of results."""
    return {f"{name}.md": _write_result_page(name) for name in find_results()}


def _write_result_page(name: str) -> str:
    text = (_BENCHMARKS / "results" / f"{name}.md").read_text(encoding="utf-8")
    title, _, tables = text.partition("\n")
    tables = re.sub(r"^#(#+ )", r"\1", tables, flags=re.MULTILINE)
    commands = "\n".join(data_manifest.read_benchmarks()[name].commands)
    how = f"{_read_question(name)}\n\n{data_manifest.describe(name)}\n\n```bash\n{commands}\n```\n"
    return f"{_NOTE}# {title.lstrip('# ')}\n\n{how}\n{tables.strip()}\n"


def _read_question(name: str) -> str:
    """Read the first paragraph of the docstring of a benchmark or tool."""
    paths = (_BENCHMARKS / f"{name}.py", _TOOLS / f"{name}.py", _BENCHMARKS / name / "__init__.py")
    source = next(path for path in paths if path.is_file())
    doc = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())


def write_command_pages() -> dict[str, str]:
    """Write file name -> Markdown of the command line, by Typer from the commands themselves."""
    done = subprocess.run([sys.executable, *_TYPER], check=True, capture_output=True, text=True)  # noqa: S603
    return {"index.md": _NOTE + done.stdout}


def write_measurements() -> str:
    """Write the table of all measurements with links to their pages."""
    known = data_manifest.read_benchmarks()
    rows = ["| measurement | question | repeatable by |", "|---|---|---|"]
    rows += [
        f"| [{name}](results/{name}.md) | {known[name].question} | {data_manifest.describe_short(name)} |"
        for name in known
        if name in find_results()
    ]
    return "\n".join(rows) + "\n"


def write_benchmarks() -> str:
    """Write the table of benchmarks for their README."""
    rows = ["| script | question | repeatable by |", "|---|---|---|"]
    rows += [
        f"| `{name}` | {benchmark.question} | {data_manifest.describe_short(name)} |"
        for name, benchmark in data_manifest.read_benchmarks().items()
        if not (_TOOLS / f"{name}.py").is_file()
    ]
    return "\n".join(rows) + "\n"


def write_names() -> str:
    """Write a table for each page of the reference: names with the first sentence of their docstrings."""
    contents = (_API / "index.md").read_text(encoding="utf-8").partition("```{toctree}")[2].partition("```")[0]
    order = re.findall(r"^(\w+)$", contents, re.MULTILINE)
    parts: list[str] = []
    for page in order:
        text = (_API / f"{page}.md").read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        parts.append(f"## [{title}]({page}.md)\n\n| name | |\n|---|---|")
        for written in _DOCUMENTED.findall(text):
            name = f"poise.{written.removeprefix('poise.')}"
            parts[-1] += f"\n| [{name}]({page}.md#{name}) | {_read_summary(name)} |"
    return "\n\n".join(parts) + "\n"


def _read_summary(name: str) -> str:
    """Read the first sentence of a docstring, without marks of reStructuredText."""
    doc = inspect.getdoc(pkgutil.resolve_name(name)) or ""
    sentence = re.split(r"(?<=\.)\s", " ".join(doc.split("\n\n")[0].split()), maxsplit=1)[0]
    return sentence.replace("``", "`").replace("|", "\\|")

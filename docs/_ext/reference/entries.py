"""A page of the reference as Markdown: each public name with its signature, docstring and members."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from reference import docstrings, members, topics
from reference.topics import Topic

# Classes that functions return and nobody calls: shown without a signature.
_RETURNED = frozenset({
    "Baked", "Fitted", "Planted", "Prepared", "Result", "Trace", "Transforms", "View", "Roles", "Leg", "Rig", "Skin",
    "Joint", "Skeleton", "Answer", "Problem", "Request", "Solver", "Frames", "Track", "KeyedClip", "Comparison",
    "Report", "Soles", "Plants", "Figure", "Task", "Measured", "Handle", "Frame",
})  # fmt: skip


def page(topic: Topic) -> str:
    """The page of a topic."""
    text = f"# {topic.title}\n\n{topic.text}\n\n"
    if topic.file == "errors":
        text += "```text\n" + "\n".join(topics.error_tree()) + "\n```\n\n"
    return text + "\n".join(entry(name, value) for name, value in topics.named(topic).items())


def index() -> str:
    """The page that the reference begins with: every name with its first sentence."""
    text = (
        "# API reference\n\nEvery public name of `poise`, made from the package itself at each build. "
        "Lengths are in file units, angles in radians, quaternions w x y z; leading axes are a batch.\n\n"
        "```{toctree}\n:maxdepth: 1\n:hidden:\n\n"
    )
    text += "\n".join(topic.file for topic in topics.TOPICS) + "\ncommand-line\n```\n"
    for topic in topics.TOPICS:
        text += f"\n**[{topic.title}]({topic.file}.md)**\n\n"
        for name, value in topics.named(topic).items():
            text += f"- [`{name}`](#{topics.label(name)}): {docstrings.escaped(_first(value))}\n"
    return text + "\n**[Command line](command-line.md)**\n"


def _first(value: Any) -> str:
    first = docstrings.parts(inspect.getdoc(value) or "")[0]
    assert isinstance(first, docstrings.Paragraph), value
    return first.text


def entry(name: str, value: Any) -> str:
    """A name with its heading, how it is called, its docstring and members."""
    short = name.removeprefix("poise.") if name.count(".") == 1 else name
    text = f"({topics.label(name)})=\n## {short}\n\n" + _signature(name, value)
    text += docstrings.markdown(inspect.getdoc(value) or "", _link, _facts(value))
    return text + (_values(value) + _members(value) if inspect.isclass(value) else "")


def _facts(value: Any) -> dict[str, str]:
    return members.solver_facts(value) if _is_solver(value) else members.facts(value)


def _is_solver(value: Any) -> bool:
    return inspect.isclass(value) and getattr(sys.modules[value.__module__], "Solver", None) is value and (
        value.__module__ != "poise.solvers"
    )  # fmt: skip


def _signature(name: str, value: Any) -> str:
    if inspect.isclass(value) and (
        value.__name__ in _RETURNED or members.values(value) or issubclass(value, BaseException)
    ):
        return ""
    return f"```text\n{members.call(name, value)}\n```\n\n"


def _values(value: Any) -> str:
    rows = members.values(value)
    return "".join(f"\n{docstrings.definition(f'`{name}`', '', docstrings.escaped(text))}\n" for name, text in rows)


def _members(value: Any) -> str:
    """Attributes and methods as a list; what a solver has for the library's own use is said once, in `extending`."""
    found = [each for each in members.members(value) if each.doc and not (_is_solver(value))]
    text = ""
    for title, own in (("Attributes", [m for m in found if m.call is None]), ("Methods", [m for m in found if m.call])):
        if own:
            text += f"\n**{title}**\n"
        for member in own:
            term = f"`{' '.join((member.call or member.name).split())}`".replace("( ", "(").replace(", )", ")")
            text += "\n" + docstrings.definition(term, "", docstrings.markdown(member.doc, _link, member.facts)) + "\n"
    return text


def _link(code: str) -> str | None:
    """The address of what a piece of code names: `poise.CCD`, `Result.message()`; None if it is nothing public."""
    name = code.removeprefix("poise.").partition("(")[0].partition(".")[0]
    begins_upper = name[:1].isupper() or code.startswith("poise.")
    return f"#{topics.label(f'poise.{name}')}" if begins_upper and name in topics.public() else None

"""The command line as Markdown, from the commands themselves."""

from __future__ import annotations

import inspect
from typing import Any

import typer.main

from poise import cli
from reference.docstrings import definition, escaped

_TEXT = """# Command line

What `poise VERB --help` says. Exit code 0: done, 1: a target was not reached, 2: misuse or a bad file,
with one line that names file, place and reason.
"""


def page() -> str:
    """Every verb with what it takes."""
    group: Any = typer.main.get_command(cli.app)
    return _TEXT + "".join(_verb(name, command) for name, command in group.commands.items())


def _verb(name: str, command: Any) -> str:
    text = f"\n## poise {name}\n\n"
    for paragraph in inspect.cleandoc(command.help or "").replace("\b", "").split("\n\n"):
        text += escaped(" ".join(paragraph.split())) + "\n\n"
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            text += _parameter(parameter) + "\n\n"
    return text


def _parameter(parameter: Any) -> str:
    option = parameter.param_type_name == "option"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts)) if option else ""
    term = names or f"`{parameter.name.upper()}`"
    facts = [] if option else ["argument" if parameter.required else "argument, may be left out"]
    default = parameter.default
    if isinstance(default, (str, int, float)) and not isinstance(default, bool) and default != "":
        facts.append(f"default <code>{default}</code>")
    return definition(term, ", ".join(facts), escaped(" ".join((parameter.help or "no text").split())))

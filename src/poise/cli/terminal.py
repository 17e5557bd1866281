"""Text output on the terminal, with control characters escaped.

JSON is printed without `say`: json.dumps() escapes control characters itself.
"""

from __future__ import annotations

import sys

import typer

from poise.errors import escape_controls


def say(*lines: str, err: bool = False) -> None:
    r"""Print lines as plain text.

    Names of files and joints cannot send control sequences to the terminal: each text is one line, and line breaks and
    other control characters are printed as escapes such as `\x1b`. Letters missing in the terminal's encoding are
    escaped as well.

    Parameters
    ----------
    lines
        The lines, without line ends.
    err
        Print to standard error.
    """
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    text = "\n".join(map(escape_controls, lines))
    typer.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=err)

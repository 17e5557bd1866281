"""Matplotlib, which is imported only when a picture is made, here and by what draws on it."""

from __future__ import annotations

import io
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from poise.errors import UnsupportedError, one_line

PAPER = "#FFFFFF"
_POWER = re.compile(r"\$\\mathdefault\{[-+0-9.^{} ]*\}\$")  # what Matplotlib writes beside an axis
_UNDATED: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


@contextmanager
def canvas(width: float, height: float) -> Generator[Any]:
    """An empty figure [inch] to draw on and write inside this block; UnsupportedError without Matplotlib."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra; starting without it must work and be quick)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        message = "drawing needs Matplotlib: pip install 'poise[plot]'"
        raise UnsupportedError(message) from error
    with mpl.rc_context({"svg.hashsalt": "poise", "font.family": "sans-serif"}):
        yield Figure(figsize=(width, height), facecolor=PAPER)


def written(figure: Any, kind: str) -> bytes:
    """Make the bytes of a file, the same every time.

    Characters without a picture are drawn as escapes.
    """
    from matplotlib.text import Text  # noqa: PLC0415  (canvas() has found it)

    for text in figure.findobj(Text):
        if not _POWER.fullmatch(text.get_text()):
            text.set_parse_math(False)  # a name with two dollar signs is no formula
            text.set_text("\n".join(map(one_line, text.get_text().split("\n"))))
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=160, metadata=_UNDATED[kind])
    return file.getvalue()

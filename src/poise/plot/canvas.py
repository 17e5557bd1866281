"""Matplotlib figures, drawn from a scene. Matplotlib is imported only when a picture is made."""

from __future__ import annotations

import io
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from poise.errors import UnsupportedError, one_line

PAPER = "#FFFFFF"
_UNDATED: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


@contextmanager
def canvas(width: float, height: float) -> Generator[Any]:
    """Open an empty figure [inch] for drawing in this block. Raise UnsupportedError without Matplotlib."""
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra: the start must work without it and be fast)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        message = "drawing needs Matplotlib: pip install 'poise[plot]'"
        raise UnsupportedError(message) from error
    with mpl.rc_context({"svg.hashsalt": "poise", "font.family": "sans-serif"}):
        yield Figure(figsize=(width, height), facecolor=PAPER)


def written(figure: Any, kind: str) -> bytes:
    """Encode the figure as a file, reproducibly.

    Characters without a glyph are drawn as escapes.
    """
    from matplotlib.text import Text  # noqa: PLC0415  (imported before by the canvas)
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    axes = [axis for one in figure.axes for axis in (one.xaxis, one.yaxis)]
    powers = [axis for axis in axes if isinstance(axis.get_major_formatter(), LogFormatter)]
    formulas = {text for axis in powers for text in axis.findobj(Text) if text is not axis.label}
    for text in set(figure.findobj(Text)) - formulas:
        text.set_parse_math(False)  # a name with two dollar signs is not a formula
        text.set_text("\n".join(map(one_line, text.get_text().split("\n"))))
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=160, metadata=_UNDATED[kind])
    return file.getvalue()

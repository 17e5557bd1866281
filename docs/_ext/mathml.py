"""Formulas as MathML, which browsers draw themselves: no script, no font, nothing fetched."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def mathml(text: str, display: str) -> str:
    """A formula as MathML; ExtensionError names the formula that cannot be written so."""
    try:
        written = convert(text, display=display)
    except Exception as problem:  # the converter raises many kinds, none of which names the formula
        raise ExtensionError(f"the formula {text!r} cannot be written as MathML: {problem!r}") from problem
    if "\\" in written:  # a command that the converter does not know is left standing
        raise ExtensionError(f"the formula {text!r} has a command that cannot be written as MathML")
    return written


def inline(translator: Any, node: nodes.Element) -> None:
    """Write a formula within a sentence."""
    translator.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.Element) -> None:
    """Write a formula on its own line, which scrolls where it is wider than the page."""
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

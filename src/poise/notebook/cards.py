"""Cards of notebook cells: title, pictures, tables and notes as HTML.

The style applies inside a card only; its name stands twice where a rule of JupyterLab would win otherwise. Text and
lines have the colour of the surrounding page, and all other colours have a contrast of at least 3 on white and on dark
paper: a card needs not know the theme of its notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from poise.errors import escape_controls
from poise.formatting import format_count

MAX_ROWS = 10  # rows of a table about something of any size
_MAX_CELL_LETTERS = 120  # letters of a cell or a title; of longer texts the rest is left out
_MAX_NOTE_LETTERS, _MAX_NOTES = 300, 6  # letters of a note, notes of a card
# colours of lines: contrast of at least 3 on white and on dark paper, distinguishable for colour-blind readers
CHAIN_COLOUR, TARGET_COLOUR, PATH_COLOUR = "#2a7fbf", "#d55e00", "#b5679d"
METHOD_COLOURS = (CHAIN_COLOUR, TARGET_COLOUR, "#008f68", PATH_COLOUR, "#9a7d00", "#8a6fd1", "#6f7b86")

_STYLE = f"""
.poise-card {{ font: 13px/1.45 system-ui, sans-serif; color: inherit; max-width: 960px; overflow-wrap: anywhere }}
.poise-card .title {{ font-weight: 600; margin: 0 0 .3em }}
.poise-card p, .poise-card ul {{ margin: .3em 0 }}
.poise-card .muted, .poise-card figcaption {{ opacity: .75 }}
.poise-card .row {{ display: flex; flex-wrap: wrap; gap: 8px 20px; align-items: flex-start }}
.poise-card .row > * {{ flex: 0 1 auto; min-width: 0; margin: 0 }}
.poise-card figure {{ margin: 0; max-width: 100% }}
.poise-card figure h3 {{ font-size: 1em; margin: 0 }}
.poise-card figcaption {{ font-size: .9em }}
.poise-card table {{ border-collapse: collapse; font-size: .95em; margin: .3em 0 }}
.poise-card.poise-card :is(td, th) {{ padding: .15em .8em .15em 0; text-align: left;
  vertical-align: top; max-width: 30em }}
.poise-card.poise-card :is(td, th).n {{ text-align: right;
  font-variant-numeric: tabular-nums; white-space: nowrap }}
.poise-card svg {{ display: block; width: 100%; height: auto; font-size: 11px; fill: currentColor }}
.poise-card .key svg {{ display: inline-block; width: 26px; height: 10px; margin-right: 4px }}
.poise-card .key span {{ margin-right: 14px; white-space: nowrap }}
.poise-card svg path {{ stroke: currentColor; stroke-opacity: .2; fill: none }}
.poise-card svg path.zero {{ stroke-opacity: .5 }}
.poise-card svg path.level {{ stroke: {TARGET_COLOUR}; stroke-opacity: 1; stroke-dasharray: 4 3 }}
.poise-card svg polyline {{ fill: none; stroke-width: 1.6; stroke-linejoin: round }}
.poise-card svg .error {{ stroke: {CHAIN_COLOUR} }}
.poise-card svg .bone {{ stroke-opacity: .6; stroke-width: 1.6; stroke-linecap: round }}
.poise-card svg .helper {{ stroke-opacity: .25 }}
.poise-card svg .was {{ stroke-opacity: .5; stroke-width: 1.6; stroke-dasharray: 3 3 }}
.poise-card svg .limb {{ stroke: {CHAIN_COLOUR}; stroke-opacity: 1; stroke-width: 3; stroke-linecap: round }}
.poise-card svg .joint {{ fill: {CHAIN_COLOUR} }}
.poise-card svg .tip {{ stroke: {PATH_COLOUR}; stroke-opacity: 1; stroke-width: 1.2 }}
.poise-card svg .target {{ stroke: {TARGET_COLOUR}; stroke-opacity: 1; stroke-width: 1.8; fill: none }}
.poise-card svg .gap {{ stroke: {TARGET_COLOUR}; stroke-opacity: 1; stroke-dasharray: 2 2 }}
.poise-card svg .heel {{ stroke: {CHAIN_COLOUR} }} .poise-card svg .ball {{ stroke: {TARGET_COLOUR} }}
.poise-card svg .before {{ stroke-width: 1; opacity: .6 }}
.poise-card svg rect.heel {{ fill: {CHAIN_COLOUR}; stroke: none }}
.poise-card svg rect.ball {{ fill: {TARGET_COLOUR}; stroke: none }}
.poise-card svg .length {{ fill: var(--method, {CHAIN_COLOUR}); opacity: .85; stroke: none }}
"""


class Table(NamedTuple):
    """Rows of texts with their headings.

    headings, rows  texts
    numeric         columns aligned at the right
    row_count       the number of all rows, where `rows` has only the first
    noun            what a row is, for the number of omitted rows
    """

    headings: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numeric: frozenset[int] = frozenset()
    row_count: int | None = None
    noun: str = "row"


def format_card(
    title: str, summary: str = "", *, pictures: Sequence[str] = (), tables: Sequence[Table] = (),
    notes: Sequence[str] = (), style: str = "",
) -> str:  # fmt: skip
    """Format a card.

    Parameters
    ----------
    title, summary, notes
        Texts; they are escaped and shortened.
    pictures
        HTML of figures.
    tables
        Tables, below each other.
    style
        Further style rules.
    """
    parts = [f'<div class="poise-card"><style>{_STYLE}{style}</style>']
    parts.append(f'<p class="title">{format_text(title)}</p>')
    parts += [f"<p>{format_text(summary, _MAX_NOTE_LETTERS)}</p>"] if summary else []
    table_html = "".join(_format_table(table) for table in tables if table.rows)
    columns = [*pictures, *([f"<div>{table_html}</div>"] if table_html else [])]
    parts += [f'<div class="row">{"".join(columns)}</div>'] if columns else []
    parts += [_format_notes(notes)] if notes else []
    return "".join([*parts, "</div>"])


def format_text(text: str, max_letters: int = _MAX_CELL_LETTERS) -> str:
    """Escape a text for HTML, control characters included. Longer texts are cut."""
    shown_text = escape_controls(text)
    if len(shown_text) > max_letters:
        shown_text = f"{shown_text[: max_letters - 1]}\N{HORIZONTAL ELLIPSIS}"
    return escape(shown_text)


def format_figure(svg: str, width: float, caption: str = "") -> str:
    """Wrap a drawing with its width [px] and its caption, a text."""
    caption_html = f"<figcaption>{format_text(caption)}</figcaption>" if caption else ""
    return f'<figure style="width:{width:.0f}px">{svg}{caption_html}</figure>'


def _format_table(table: Table) -> str:
    lines = [_format_row("th", table.headings, table.numeric)] if any(table.headings) else []
    lines += [_format_row("td", row, table.numeric) for row in table.rows]
    hidden_count = 0 if table.row_count is None else table.row_count - len(table.rows)
    note = f'<p class="muted">and {format_count(hidden_count, f"more {table.noun}")}</p>' if hidden_count > 0 else ""
    return f"<table>{''.join(lines)}</table>{note}"


def _format_row(tag: str, cells: Sequence[str], numeric: frozenset[int]) -> str:
    css_classes = [' class="n"' if column in numeric else "" for column in range(len(cells))]
    texts = [
        f"<{tag}{css_class}>{format_text(cell)}</{tag}>" for css_class, cell in zip(css_classes, cells, strict=True)
    ]
    return f"<tr>{''.join(texts)}</tr>"


def _format_notes(notes: Sequence[str]) -> str:
    items = "".join(f"<li>{format_text(note, _MAX_NOTE_LETTERS)}</li>" for note in notes[:_MAX_NOTES])
    hidden_count = len(notes) - _MAX_NOTES
    more = f"<li>and {format_count(hidden_count, 'more note')}</li>" if hidden_count > 0 else ""
    return f'<ul class="muted">{items}{more}</ul>'

"""The page of a report: one self-contained HTML file. For screens of any width, dark or light, and paper."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import BALL_POINT, HEEL_POINT
from poise.ground.report.measures import SolePaths, speeds
from poise.maths.arrays import Floats
from poise.svg.charts import WIDTH, Bars, Curve, choose_range, draw_chart

_POINTS = ((HEEL_POINT, "heel"), (BALL_POINT, "ball"))
_POWERS = str.maketrans({"^": "", "2": "\N{SUPERSCRIPT TWO}", "3": "\N{SUPERSCRIPT THREE}"})

_STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1f2933; --muted: #5f6b76; --paper: #fff; --line: #dfe4e8;
  --heel: #0072b2; --ball: #d55e00; --over: #b3141e }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ec; --muted: #a3adb6; --paper: #15191d; --line: #343b42;
  --heel: #56b4e9; --ball: #e69f00; --over: #ff8a80 }} }}
@media print {{ :root {{ --ink: #000; --muted: #444; --paper: #fff; --line: #ccc; --heel: #0072b2; --ball: #d55e00;
  --over: #b3141e }}
  section, figure {{ break-inside: avoid }} .pair {{ grid-template-columns: 1fr 1fr !important }} }}
body {{ font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: {2 * WIDTH + 120}px; margin: 0 auto; padding: 12px; overflow-wrap: anywhere }}
h1 {{ font-size: 1.35em; margin: .2em 0 }} h2 {{ font-size: 1.1em; margin: 1.4em 0 .3em }}
p {{ margin: .3em 0 }} .muted {{ color: var(--muted) }} ul {{ padding-left: 1.2em }}
table {{ border-collapse: collapse; margin: .8em 0 }}
td, th {{ padding: .15em .6em .15em 0; border-bottom: 1px solid var(--line); text-align: left }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }}
.pair {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr)); gap: 6px 20px }}
svg {{ width: 100%; max-width: 560px; height: auto; font-size: 11px; fill: var(--muted) }}
svg path {{ stroke: var(--line); fill: none }} svg path.zero {{ stroke: var(--muted) }}
svg .words {{ fill: var(--ink) }} polyline {{ fill: none; stroke-width: 1.6; stroke-linejoin: round }}
.heel, .upper {{ stroke: var(--heel) }} .ball, .lower {{ stroke: var(--ball) }}
.before {{ stroke-width: 1; opacity: .6 }} .worse {{ color: var(--over) }}
rect.heel {{ fill: var(--heel); stroke: none }} rect.ball {{ fill: var(--ball); stroke: none }}
rect.over {{ fill: var(--over); stroke: none }}
.key svg {{ width: 26px; height: 10px; margin-right: 4px }} .key span {{ margin-right: 14px; white-space: nowrap }}
"""


class MeasureRow(NamedTuple):
    """One line of the table: label, unit, values and remark. The values are those before and after."""

    name: str
    unit: str
    before: float
    after: float
    remark: str = ""


class Contents(NamedTuple):
    """What the page says.

    name, title  of the clip, and what was planted on what
    rows, facts  the table, and the sentences below it
    contacts     when heels and balls stand
    paths        where the soles go over the ground, before and after
    notes        what was assumed or given up, a sentence each
    """

    name: str
    title: str
    rows: tuple[MeasureRow, ...]
    facts: tuple[str, ...]
    contacts: Contacts
    paths: tuple[SolePaths, SolePaths]
    notes: tuple[str, ...]


def page_of(contents: Contents) -> str:
    """The whole page."""
    parts = [
        _table(contents),
        *format_facts(contents.facts),
        format_key(),
        *(_leg(contents, leg) for leg in range(len(contents.contacts.legs))),
        format_notes(contents.notes),
    ]
    return format_page(f"Feet of {contents.name or 'clip'}", contents.title, parts)


def format_page(heading: str, title: str, parts: Sequence[str]) -> str:
    """Format a page of parts, below its heading and a muted title."""
    heading = escape(heading)
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{heading}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{heading}</h1>",
        f'<p class="muted">{escape(title)}</p>',
        *parts,
        "</body></html>",
    ]
    return "\n".join(lines)


def format_facts(facts: Sequence[str]) -> list[str]:
    """Format a paragraph for each fact."""
    return [f"<p>{escape(fact[:1].upper() + fact[1:])}.</p>" for fact in facts]


def _table(contents: Contents) -> str:
    lines: list[str] = []
    for row in contents.rows:
        remark = f'<br><span class="muted">{escape(row.remark)}</span>' if row.remark else ""
        last = f"<td>{row.unit.translate(_POWERS)}{remark}</td>"
        lines.append(format_row(row.name, (row.before, row.after), last))
    return format_table(("before", "after"), lines, "<th></th>")


def format_table(columns: Sequence[str], rows: Sequence[str], last_head: str = "") -> str:
    """Format a table of rows with numbers, names in front."""
    head = "".join(f'<th class="n">{escape(column)}</th>' for column in columns)
    return f"<table><tr><th></th>{head}{last_head}</tr>{''.join(rows)}</table>"


def format_row(name: str, values: Sequence[float], last_cell: str = "") -> str:
    """Format a row of a table. Whole numbers are counts."""
    texts = [f"{value:,}" if isinstance(value, int) else number(value) for value in values]
    numbers = "".join(f'<td class="n">{text}</td>' for text in texts)
    return f"<tr><td>{escape(name)}</td>{numbers}{last_cell}</tr>"


def number(value: float) -> str:
    """Format a number with two decimals, large ones without. Numbers that round to nothing are 0."""
    if abs(value) < 0.005:  # noqa: PLR2004
        return "0"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"  # noqa: PLR2004


def format_key() -> str:
    """Format the key of the lines: heel and ball, before and after."""
    return format_line_key(
        [(f"{point}{style}", f"{point}{words}") for point in ("heel", "ball")
         for style, words in (("", ""), (" before", " before"))]
    )  # fmt: skip


def format_line_key(kinds: Sequence[tuple[str, str]]) -> str:
    """Format a key of lines, from pairs (class, words)."""
    line = '<svg viewBox="0 0 26 10"><polyline class="{}" points="1,5 25,5"/></svg>'
    return '<p class="key">' + "".join(f"<span>{line.format(style)}{words}</span>" for style, words in kinds) + "</p>"


def _leg(contents: Contents, leg: int) -> str:
    """Draw height and speed of one foot over time. Before and after, with its contacts."""
    name, contacts = contents.contacts.legs[leg], contents.contacts
    swings = [speeds(paths)[:, leg] for paths in contents.paths]
    drawn = [
        draw_heights(contacts, contents.paths, leg),
        _draw_before_and_after(contacts, leg, (swings[0], swings[1]), "speed along it [m/s]"),
    ]
    return format_section(f"{name.capitalize()} foot", drawn)


def format_section(heading: str, charts: Sequence[str]) -> str:
    """Format charts beside each other, below a heading."""
    figures = "".join(f"<figure style='margin:0'>{svg}</figure>" for svg in charts)
    return f'<section><h2>{escape(heading)}</h2><div class="pair">{figures}</div></section>'


def draw_heights(contacts: Contacts, paths: tuple[SolePaths, SolePaths], leg: int) -> str:
    """Draw the height of heel and ball of one foot over time. Before and after, with its contacts."""
    before, after = (100.0 * path.heights[:, leg] for path in paths)
    return _draw_before_and_after(contacts, leg, (before, after), "height above the ground [cm]")


def _draw_before_and_after(contacts: Contacts, leg: int, values: tuple[Floats, Floats], label: str) -> str:
    bars = [Bars("heel", "heel", contacts.heel[:, leg]), Bars("ball", "ball", contacts.ball[:, leg])]
    before, after = _curves(values[0], before=True), _curves(values[1], before=False)
    return draw_chart(contacts.times, [*before, *after], bars, label, *choose_range(_values(before), _values(after)))


def _curves(values: Floats, *, before: bool) -> list[Curve]:
    return [Curve(f"{name} before" if before else name, values[:, point]) for point, name in _POINTS]


def _values(curves: list[Curve]) -> Floats:
    return np.concatenate([curve.values for curve in curves])


def format_notes(notes: Sequence[str]) -> str:
    """Format a list of notes below a heading; "" without any."""
    if not notes:
        return ""
    return "<h2>Notes</h2><ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"

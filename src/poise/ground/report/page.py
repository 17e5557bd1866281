"""The page of a report: one self-contained HTML file. For screens of any width, dark or light, and paper."""

from __future__ import annotations

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
  --heel: #0072b2; --ball: #d55e00 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6e9ec; --muted: #a3adb6; --paper: #15191d; --line: #343b42;
  --heel: #56b4e9; --ball: #e69f00 }} }}
@media print {{ :root {{ --ink: #000; --muted: #444; --paper: #fff; --line: #ccc; --heel: #0072b2; --ball: #d55e00 }}
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
.heel {{ stroke: var(--heel) }} .ball {{ stroke: var(--ball) }} .before {{ stroke-width: 1; opacity: .6 }}
rect.heel {{ fill: var(--heel); stroke: none }} rect.ball {{ fill: var(--ball); stroke: none }}
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
    name = escape(contents.name or "clip")
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Feet of {name}</title><style>{_STYLE}</style></head><body>",
        f"<h1>Feet of {name}</h1>",
        f'<p class="muted">{escape(contents.title)}</p>',
        _table(contents),
        *(f"<p>{escape(fact[:1].upper() + fact[1:])}.</p>" for fact in contents.facts),
        format_key(),
        *(_leg(contents, leg) for leg in range(len(contents.contacts.legs))),
        _notes(contents),
        "</body></html>",
    ]
    return "\n".join(parts)


def _table(contents: Contents) -> str:
    lines: list[str] = []
    for row in contents.rows:
        remark = f'<br><span class="muted">{escape(row.remark)}</span>' if row.remark else ""
        numbers = "".join(f'<td class="n">{number(value)}</td>' for value in (row.before, row.after))
        lines.append(f"<tr><td>{escape(row.name)}</td>{numbers}<td>{row.unit.translate(_POWERS)}{remark}</td></tr>")
    head = '<tr><th></th><th class="n">before</th><th class="n">after</th><th></th></tr>'
    return f"<table>{head}{''.join(lines)}</table>"


def number(value: float) -> str:
    """Format a number with two decimals, large ones without. Numbers that round to nothing are 0."""
    if abs(value) < 0.005:  # noqa: PLR2004
        return "0"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"  # noqa: PLR2004


def format_key() -> str:
    """Format the key of the lines: heel and ball, before and after."""
    kinds = [(f"{point}{style}", f"{point}{words}") for point in ("heel", "ball")
             for style, words in (("", ""), (" before", " before"))]  # fmt: skip
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
    figures = "".join(f"<figure style='margin:0'>{svg}</figure>" for svg in drawn)
    return f'<section><h2>{escape(name.capitalize())} foot</h2><div class="pair">{figures}</div></section>'


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


def _notes(contents: Contents) -> str:
    if not contents.notes:
        return ""
    return "<h2>Notes</h2><ul>" + "".join(f"<li>{escape(note)}</li>" for note in contents.notes) + "</ul>"

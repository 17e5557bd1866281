"""Page of a report of retargeting: tables, then curves over time. It is a page as that of planted feet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.report.page import (
    draw_heights,
    format_facts,
    format_key,
    format_line_key,
    format_notes,
    format_page,
    format_row,
    format_section,
    format_table,
)
from poise.ground.report.report import Report
from poise.maths.arrays import Floats
from poise.model.roles.bone_names import SIDES
from poise.svg.charts import Bars, Curve, choose_range, draw_chart

_COLUMNS = ("p50", "p95", "p99", "most", "frame", "twist p95")
_STYLES = {"Upper": "upper", "Lower": "lower"}


class PageTable(NamedTuple):
    """A heading, and rows of a name with numbers."""

    heading: str
    rows: tuple[tuple[str, tuple[float, ...]], ...]


class MotionContents(NamedTuple):
    """What the page says.

    name, title  of the clip
    verdict      what exceeds its bound, or the sentence that nothing does
    is_ok        whether nothing does
    tables       errors of direction
    facts        sentences below them
    times        (F,) of frames [s]
    angles       (F,) errors of direction by role [degrees], with their bounds
    bounds
    contacts     when feet stand; None where that is unknown
    planting     the report of planting, None without
    notes        what was assumed or given up, a sentence each
    """

    name: str
    title: str
    verdict: tuple[str, ...]
    is_ok: bool
    tables: tuple[PageTable, ...]
    facts: tuple[str, ...]
    times: Floats
    angles: Mapping[str, Floats]
    bounds: Mapping[str, float]
    contacts: Contacts | None
    planting: Report | None
    notes: tuple[str, ...]


def format_motion_page(contents: MotionContents) -> str:
    """Format the whole page."""
    kind = "" if contents.is_ok else ' class="worse"'
    parts = [
        *(f"<p{kind}>{escape(sentence)}</p>" for sentence in contents.verdict),
        *(_format_angles(table) for table in contents.tables),
        *format_facts(contents.facts),
        *_draw_limbs(contents),
        *_draw_feet(contents.planting),
        format_notes(contents.notes),
    ]
    return format_page(f"Motion of {contents.name or 'clip'}", contents.title, parts)


def _format_angles(table: PageTable) -> str:
    rows = [format_row(name, values) for name, values in table.rows]
    return f"<h2>{escape(table.heading)}</h2>" + format_table(_COLUMNS, rows)


def _draw_limbs(contents: MotionContents) -> list[str]:
    """Draw the errors of each arm and leg over time."""
    sections: list[str] = []
    for limb in ("Arm", "Leg"):
        charts = [_draw_limb(contents, side, limb) for side in SIDES if _list_roles(contents, side, limb)]
        if charts:
            sections.append(format_section(f"{limb}s", charts))
    key = format_line_key([("upper", "upper arm or thigh"), ("lower", "forearm or shin")])
    return [key, *sections] if sections else []


def _list_roles(contents: MotionContents, side: str, limb: str) -> list[str]:
    return [role for part in _STYLES if (role := f"{side}{part}{limb}") in contents.angles]


def _draw_limb(contents: MotionContents, side: str, limb: str) -> str:
    """Draw the errors of one limb. Bars below tell where it is over its bound and where its foot stands."""
    roles = _list_roles(contents, side, limb)
    over = np.any([contents.angles[role] > contents.bounds[role] for role in roles], axis=0)
    bars = [Bars("over", "over", over)]
    contacts = contents.contacts
    if limb == "Leg" and contacts is not None and side in contacts.legs:
        column = contacts.legs.index(side)
        bars += [
            Bars("heel", "heel", contacts.heel[:, column]),
            Bars("ball", "ball", contacts.ball[:, column]),
        ]
    values = np.concatenate([contents.angles[role] for role in roles])
    curves = [Curve(_STYLES[role[len(side) : -len(limb)]], contents.angles[role]) for role in roles]
    label = f"{side} {limb.lower()}, off the source's direction [deg]"
    return draw_chart(contents.times, curves, bars, label, *choose_range(values, values))


def _draw_feet(planting: Report | None) -> Sequence[str]:
    """Draw the heights of planted feet over time."""
    if planting is None:
        return ()
    charts = [draw_heights(planting.contacts, planting.paths, leg) for leg in range(len(planting.contacts.legs))]
    return format_key(), format_section("Feet", charts)

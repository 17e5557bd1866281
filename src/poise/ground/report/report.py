"""Report of a planted clip as text, JSON and a page. Measures are those before and after planting."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from poise.calls import late_binding
from poise.errors import escape_controls, escape_unprintable
from poise.formatting import format_count, format_fields
from poise.ground.bearing.parts import Bearing, places_in
from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import Soles
from poise.ground.figure.figure import Figure
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import Motion, motion_of
from poise.ground.figure.speeds import shots_of
from poise.ground.report.edit_measures import Changes, changes_of, pelvis_heights
from poise.ground.report.jumps import Hitches, Jumps, hitches_of, jumps_of
from poise.ground.report.measures import Measures, PartPaths, SolePaths, measures_of, part_paths, paths_of, shape_of
from poise.ground.report.page import Contents, MeasureRow, number, page_of
from poise.ground.report.verdict import Evidence, Worse, bounds_on, stretches_of, verdict_of
from poise.ground.terrain.shapes import Plane
from poise.ground.terrain.terrain import Terrain
from poise.ground.terrain.words import describe_terrain, uphill
from poise.io.files import encode_text, write_atomically
from poise.io.json_units import FOOT_UNITS, build_units
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.roles.role_search import find_joint_by_role

_OWN = 0.02  # [m] from the soles of standing feet to level ground that is a clip's own floor


@dataclass(frozen=True, eq=False)
class Report:
    """Measures of a clip before and after planting.

    `str()` is a table for a terminal, `to_json()` the same numbers, `to_html(path)` a page with curves.

    Parameters
    ----------
    name
        Name of the clip.
    ground
        The terrain in words.
    contacts
        When heels and balls stand, the same before and after.
    motions
        The legs before and after, carried over the ground if it passes under them.
    paths
        Where the soles go over the ground, before and after.
    before
        Measures of the source on the same ground.
    after
        Measures of the result.
    changes
        How far the result is from the source.
    jumps
        Changes of step of single frames, in the source and in the result.
    hitches
        Toe-offs and landings, and those at which a knee hitches.
    worse
        What is worse than its bound, a sentence each, with the stretch and the measure; empty where `ok`.
    stretches
        Every stretch of frames that is worse than a bound, in the order of frames.
    notes
        What was assumed or given up, a sentence each.
    parts
        Where hands, elbows and knees go, before and after; None where none is on the ground.
    direction
        (3,) unit and level, in the clip's axes: along which a slope or stairs climb; None for other ground.
    """

    __repr__ = format_fields
    _repr_html_ = late_binding.represent_as_html

    name: str
    ground: str
    contacts: Contacts
    motions: tuple[Motion, Motion]
    paths: tuple[SolePaths, SolePaths]
    before: Measures
    after: Measures
    changes: Changes
    jumps: Jumps
    hitches: Hitches
    worse: tuple[Worse, ...] = ()
    stretches: tuple[Worse, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[PartPaths, PartPaths] | None = None
    direction: Floats | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is worse than its bound."""
        return not self.worse

    @property
    def rows(self) -> tuple[MeasureRow, ...]:
        """The table of measures."""
        b, a, c = self.before, self.after, self.changes
        fastest, hardest = c.worst_acceleration, c.worst_jerk
        return (
            MeasureRow("foot skate", FOOT_UNITS["skate"], b.skate, a.skate),
            MeasureRow("slip in contact, most", FOOT_UNITS["slip"], b.slip, a.slip),
            MeasureRow("off the ground in contact, most", FOOT_UNITS["lift"], b.lift, a.lift),
            MeasureRow("floating in contact, most", FOOT_UNITS["floating"], b.floating, a.floating),
            MeasureRow("floating in contact, mean", FOOT_UNITS["floating_mean"], b.floating_mean, a.floating_mean),
            MeasureRow("in the ground, deepest", FOOT_UNITS["penetration"], b.penetration, a.penetration),
            MeasureRow("in the ground, all points", FOOT_UNITS["sunk"], b.sunk, a.sunk),
            MeasureRow("knee bent backwards, most", FOOT_UNITS["backward"], *_most(b.backward, a.backward)),
            MeasureRow("knee bend, most", FOOT_UNITS["knee_bend"], *_most(b.knee_bend, a.knee_bend)),
            MeasureRow("toe bend, most", FOOT_UNITS["toe_bend"], *_most(b.toe_bend, a.toe_bend)),
            *self._parts,
            _row("acceleration, 99 % of frames", FOOT_UNITS["acceleration"], c.joints, c.accelerations, fastest),
            _row("jerk, peak", FOOT_UNITS["jerk"], c.joints, c.jerks, hardest),
            self._jump,
        )

    @property
    def _parts(self) -> tuple[MeasureRow, ...]:
        """The lines of hands, elbows and knees."""
        if self.parts is None:
            return ()
        before, after = self.parts
        held = ", ".join(part for part, on in zip(after.parts, after.on.T, strict=True) if on.any())
        return (
            MeasureRow("hands and knees, skate", FOOT_UNITS["skate"], before.skate, after.skate, held),
            MeasureRow("hands and knees, deepest", FOOT_UNITS["deepest"], before.deepest, after.deepest),
        )

    @property
    def _jump(self) -> MeasureRow:
        """The line of the joint with the largest spike."""
        jumps = self.jumps
        frame, joint = jumps.worst
        before, after = jumps.largest[:, joint]
        value, allowed = float(jumps.after[frame, joint]), float(jumps.allowed[frame, joint])
        remark = f"{jumps.joints[joint]}, frame {frame}: {number(value)}, source within 0.1 s {number(allowed)}"
        return MeasureRow("change of step, most", FOOT_UNITS["jumps"], float(before), float(after), remark)

    @property
    def facts(self) -> tuple[str, ...]:
        """Sentences below the table: contacts, steps, hitches, displacement, bones."""
        c, hitches, legs = self.changes, self.hitches, zip(self.contacts.legs, self.after.contact, strict=True)
        mover, hitched = escape_unprintable(self.motions[0].figure.mover), [hitch.kind for hitch in hitches.found]
        bones = f"changed by at most {100 * c.stretch:.2g} %" if c.stretch else "unchanged"
        return (
            "in contact: " + ", ".join(f"{leg} {100 * share:.0f} %" for leg, share in legs),
            "change of step beyond the source's, most: " + _by_part(self.jumps.excess),
            *self._source_pops,
            "knees hitch at {} of {} toe-offs, {} of {} landings".format(
                hitched.count("toe-off"), hitches.toe_offs, hitched.count("landing"), hitches.landings
            ),
            f"pelvis off its height by {c.pelvis_median:.0f} mm (median), at most {c.pelvis:.0f} mm",
            f"{mover} moved by at most {c.sideways:.0f} mm level, {c.vertical:.0f} mm up or down",
            f"joints moved by at most {c.largest_move:.0f} mm, turned by {c.largest_turn:.1f} deg",
            f"bone lengths {bones}",
        )

    @property
    def _source_pops(self) -> tuple[str, ...]:
        """A sentence where the source itself pops."""
        jumps = self.jumps
        found = np.where(jumps.pops, jumps.before, 0.0)
        if not found.any():
            return ()
        frame, joint = np.unravel_index(int(found.argmax()), found.shape)
        frames = format_count(int(jumps.pops.any(axis=1).sum()), "frame")
        most = f"most the {jumps.joints[joint]} at frame {frame}, by {found[frame, joint]:.0f} mm"
        return (f"the source itself pops in {frames}, {most}",)

    @property
    def title(self) -> str:
        """Legs, frames and ground in words. As "2 legs (left, right), 131 frames, on stairs ..."."""
        legs, frames = self.contacts.legs, len(self.contacts.times)
        of = f"{format_count(len(legs), 'leg')} ({', '.join(legs)})"
        return f"{of}, {format_count(frames, 'frame')}, on {self.ground}"

    def __str__(self) -> str:
        width = max(len(f"{row.name} [{row.unit}]") for row in self.rows)
        lines = [self.title, f"{'':{width}} {'before':>9} {'after':>9}"]
        for row in self.rows:
            remark = f"  {row.remark}" if row.remark else ""
            named = f"{row.name} [{row.unit}]"
            lines.append(f"{named:{width}} {number(row.before):>9} {number(row.after):>9}{remark}")
        return "\n".join(map(escape_controls, [*lines, *self.facts]))  # a name must not end a line

    def as_object(self) -> dict[str, Any]:
        """Every number and its unit, as plain values for JSON."""
        return {
            "clip": self.name,
            "units": build_units(self.motions[0].figure.skeleton.metres_per_unit, **FOOT_UNITS),
            "ground": self.ground,
            "direction": None if self.direction is None else self.direction.tolist(),
            "legs": list(self.contacts.legs),
            "frames": len(self.contacts.times),
            "before": _plain(self.before),
            "after": _plain(self.after),
            "changes": _changes(self.changes),
            "jumps": _jumps(self.jumps),
            "hitches": {**self.hitches._asdict(), "found": [hitch._asdict() for hitch in self.hitches.found]},
            "parts": None if self.parts is None else _parts(self.parts),
            "ok": self.ok,
            "worse": [worse._asdict() for worse in self.worse],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Every number and its unit, as JSON text."""
        return json.dumps(self.as_object(), indent=1, allow_nan=False)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write a self-contained page. The table, and height and speed of each foot over time."""
        sentences = (*map(str, self.worse), *self.notes)
        contents = Contents(self.name, self.title, self.rows, self.facts, self.contacts, self.paths, sentences)
        write_atomically(Path(path), encode_text(page_of(contents)))


def report_of(
    source: Clip, result: Clip, contacts: Contacts, soles: Soles, figure: Figure, terrain: Terrain, *,
    passed: Floats | None = None, higher: Floats | None = None, bearing: Bearing | None = None, ground: str = "",
    notes: tuple[str, ...] = (),
) -> Report:  # fmt: skip
    """Measure a result against its source, both on the same terrain.

    passed  (F, 3) [m] how far both are carried over the ground, where it passes under a figure that stays in place
    higher  (F, L) [m] above the ground that feet are meant to stand; on it where not given
    bearing what else than feet is on the ground
    ground  the terrain in words; those of `describe_terrain` if empty
    """
    motions = motion_of(source, figure), motion_of(result, figure)
    if passed is not None:
        motions = motions[0].translate(passed), motions[1].translate(passed)
    footing = Footing(terrain, figure)
    balls = contacts.ball
    paths = paths_of(motions[0], soles, footing, balls), paths_of(motions[1], soles, footing, balls)
    shape = shape_of(paths[0], motions[0])
    before, after = (measures_of(*pair, shape, higher) for pair in zip(paths, [contacts] * 2, motions, strict=True))
    cuts = np.unique(shots_of(motions[0]).first)
    parts = None
    if bearing:
        parts = part_paths(bearing, source, motions[0], footing), part_paths(bearing, result, motions[1], footing)
    others = _ends(source, result, figure, passed) | _arms(parts)
    bounds = bounds_on(terrain, own=_is_own_floor(terrain, paths[0], contacts))
    jumps, hitches = jumps_of(motions, others, room=bounds.step), hitches_of(motions, contacts)
    stand = np.zeros(contacts.heel.shape) if higher is None else higher
    pelvis = pelvis_heights(source, result, figure)
    found = Evidence(
        bounds, motions, paths[1], contacts, jumps, hitches, shape, stand, pelvis, parts and parts[1],
    )  # fmt: skip
    return Report(
        name=result.name,
        ground=ground or describe_terrain(terrain, figure.up),
        contacts=contacts,
        motions=motions,
        paths=paths,
        before=before,
        after=after,
        changes=changes_of(source, result, figure, cuts.tolist()),
        jumps=jumps,
        hitches=hitches,
        worse=verdict_of(found),
        stretches=stretches_of(found),
        notes=notes,
        parts=parts,
        direction=uphill(terrain, figure.up),
    )


def _is_own_floor(terrain: Terrain, paths: SolePaths, contacts: Contacts) -> bool:
    """Return whether the ground is the clip's own floor.

    It is level, and at the height at which the source's feet stand.
    """
    surface = terrain.surface
    if not isinstance(surface, Plane) or surface.slope_x or surface.slope_y or not contacts.any.any():
        return False
    lowest = paths.heights.min(axis=2)[contacts.any]
    return bool(abs(np.median(lowest)) <= _OWN)


def _arms(parts: tuple[PartPaths, PartPaths] | None) -> dict[str, tuple[Floats, Floats]]:
    """Return positions (F, 3) of hands and elbows in both clips [m]. z up; knees are the legs'."""
    if parts is None:
        return {}
    before, after = parts
    names = [(column, name) for column, name in enumerate(before.parts) if not name.endswith("knee")]
    return {name: (before.points[:, column], after.points[:, column]) for column, name in names}


def _ends(source: Clip, result: Clip, figure: Figure, passed: Floats | None) -> dict[str, tuple[Floats, Floats]]:
    """Return positions (F, 3) of hands and head in both clips [m]. z up; without those of unknown joints."""
    roles = {"left hand": "leftHand", "right hand": "rightHand", "head": "head"}
    rows = {name: find_joint_by_role(figure.skeleton, role) for name, role in roles.items()}
    names = {name: figure.skeleton.names[row] for name, row in rows.items() if row is not None}
    moved = 0.0 if passed is None else passed[:, None]
    before, after = (places_in(clip.poses, figure, tuple(names.values())) + moved for clip in (source, result))
    return {name: (before[:, column], after[:, column]) for column, name in enumerate(names)}


def _row(name: str, unit: str, joints: tuple[str, ...], values: Floats, worst: tuple[str, float]) -> MeasureRow:
    """Format the line of the joint with the largest ratio. The ratio is named where it is that of the two numbers.

    Where one of them counts as more than it is, see `Changes`, the ratio is of numbers that do not stand there.
    """
    joint, ratio = worst
    before, after = values[:, joints.index(joint)].tolist()
    times = f"x{ratio:.2f} " if before and after / before == ratio else ""
    return MeasureRow(name, unit, before, after, f"{times}at {joint}")


def _most(before: Floats, after: Floats) -> tuple[float, float]:
    return float(before.max()), float(after.max())


def _by_part(excess: dict[str, float]) -> str:
    """Format the largest excess of each kind of joint [mm]. Over all legs and arms."""
    most: dict[str, float] = {}
    for joint, value in excess.items():
        part = joint.rpartition(" ")[2]
        most[part] = max(value, most.get(part, 0.0))
    return ", ".join(f"{part} {value:.1f}" for part, value in most.items()) + " mm"


def _plain(measures: Measures) -> dict[str, Any]:
    return {name: value if isinstance(value, float) else value.tolist() for name, value in vars(measures).items()}


def _changes(changes: Changes) -> dict[str, Any]:
    names = ("sideways", "vertical", "pelvis", "pelvis_median", "stretch", "largest_move", "largest_turn")
    worst = {"worst_acceleration": changes.worst_acceleration, "worst_jerk": changes.worst_jerk}
    pairs = zip(changes.joints, changes.accelerations.T.tolist(), changes.jerks.T.tolist(), strict=True)
    return {
        **{name: getattr(changes, name) for name in names},
        **{name: {"joint": joint, "ratio": ratio} for name, (joint, ratio) in worst.items()},
        "joints": {joint: {"acceleration": swing, "jerk": jerk} for joint, swing, jerk in pairs},
    }


def _parts(parts: tuple[PartPaths, PartPaths]) -> dict[str, Any]:
    on = dict(zip(parts[1].parts, parts[1].on.mean(axis=0).tolist(), strict=True))
    skate, deepest = ([getattr(paths, name) for paths in parts] for name in ("skate", "deepest"))
    return {"on_the_ground": on, "skate": skate, "deepest": deepest}


def _jumps(jumps: Jumps) -> dict[str, Any]:
    before, after = jumps.largest
    frame, joint = jumps.worst
    worst = {
        "joint": jumps.joints[joint], "frame": frame, "value": float(jumps.after[frame, joint]),
        "bound": float(jumps.bound[frame, joint]),
    }  # fmt: skip
    largest = zip(jumps.joints, before.tolist(), after.tolist(), strict=True)
    return {
        "worst": worst, "largest": {name: list(values) for name, *values in largest}, "excess": jumps.excess,
        "source_pops": [[jumps.joints[joint], int(frame)] for frame, joint in np.argwhere(jumps.pops)],
    }  # fmt: skip

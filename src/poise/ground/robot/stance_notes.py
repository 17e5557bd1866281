"""Notes on stances and swings beyond the reach of a robot. Measured by forward kinematics of the result."""

from __future__ import annotations

from poise.formatting import format_count
from poise.ground.contact.contacts import Contacts, find_runs
from poise.ground.figure.footing import Footing
from poise.ground.figure.motion import ANKLE, FOOT, Motion
from poise.ground.robot.planting import RobotFeet, find_full_legs
from poise.ground.robot.sole_notes import SoleTrack, describe_stances_of, describe_swings_of, find_limits
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats


def describe_stances(
    motion: Motion, contacts: Contacts, feet: RobotFeet, footing: Footing, above: Floats, tilts: Bools, q: Floats
) -> tuple[str, ...]:
    """Describe stances without a hold, deep swings and feet on an edge.

    motion  the legs of the result, carried over the ground
    above   (F, L) how high above the ground feet are to stand [m]
    tilts   (F, L) where they stand on an edge
    q       (F, nq) the result
    """
    at_limits, skeleton, notes = find_limits(feet.tree, q), feet.tree.skeleton, list[str]()
    tracks = [_track_sole(motion, contacts, feet, footing, above, leg) for leg in range(len(contacts.legs))]
    for track, row in zip(tracks, feet.rows, strict=True):
        path = [skeleton.names[joint] for joint in skeleton.list_path(int(row))]
        notes += describe_stances_of(track, {name: is_at for name, is_at in at_limits.items() if name in path})
    for track in tracks:
        notes += describe_swings_of(track)
    return (*notes, *_describe_edges(motion, contacts, tilts))


def _track_sole(
    motion: Motion, contacts: Contacts, feet: RobotFeet, footing: Footing, above: Floats, leg: int
) -> SoleTrack:
    """Track a sole in metres of the file."""
    turns = rotations.multiply(motion.turns[:, leg, FOOT], feet.axes[leg])
    corners = motion.places[:, leg, ANKLE, None] + rotations.rotate(turns[:, None], feet.soles[leg].list_corners())
    scale, ground = motion.figure.metre * (motion.figure.skeleton.metres_per_unit or 1.0), footing.heights(corners)
    middle = footing.heights(corners.mean(axis=1))
    heights = corners[..., 2] - ground - above[:, leg, None]
    return SoleTrack(
        contacts.legs[leg], motion.times, scale * corners, scale * heights, scale * ground, scale * middle,
        contacts.heel[:, leg], contacts.ball[:, leg],
    )  # fmt: skip


def _describe_edges(motion: Motion, contacts: Contacts, tilts: Bools) -> list[str]:
    """Describe feet on an edge, a sentence for each leg."""
    notes: list[str] = []
    for leg, is_full in enumerate(find_full_legs(motion.figure)):
        _, start, stop = find_runs(contacts.any[:, leg, None])
        edged = sum(bool(tilts[first : last + 1, leg].any()) for first, last in zip(start, stop, strict=True))
        if not is_full and edged:
            notes.append(
                f"the {contacts.legs[leg]} leg has too few joints to turn its foot flat: it stands as it is turned"
            )
        elif edged:
            stances = format_count(len(start), "stance")
            notes.append(
                f"the {contacts.legs[leg]} foot stands on an edge in {edged} of {stances}: no joint turns it flat"
            )
    return notes

"""Models for MuJoCo with closed loops, written from their lengths: linkages, a Stewart platform, a leg after Cassie's.

Each is closed at rest to rounding, where its q is zero, and comes with the formula of what its loops hold.
"""

from __future__ import annotations

import math

import numpy as np

from poise.maths import rotations

_Z = np.array([0.0, 0.0, 1.0])


def write_model(bodies, loops):
    """The text of a model. Numbers are written with all digits."""
    return (
        '<mujoco><compiler angle="radian" autolimits="true"/>\n<worldbody>\n'
        + bodies
        + "\n</worldbody>\n<equality>\n"
        + "\n".join(loops)
        + "\n</equality></mujoco>\n"
    )


def text_of(numbers):
    return " ".join(repr(float(x)) for x in np.atleast_1d(numbers))


def body(name, place, inside, rotation=None):
    turned = "" if rotation is None else f' quat="{text_of(rotation)}"'
    return f'<body name="{name}" pos="{text_of(place)}"{turned}>\n<geom size=".01"/>{inside}</body>'


def joint(name, axis, more=""):
    return f'<joint name="{name}" axis="{text_of(axis)}" {more}/>'


def connect(name, a, b, anchor):
    """A tie of a point in the frame of body a; MuJoCo finds where body b has it at rest."""
    return f'<connect name="{name}" body1="{a}" body2="{b}" anchor="{text_of(anchor)}"/>'


def meet(first, first_length, second, second_length, side=1.0):
    """The point of the plane xz at these distances from two points of it."""
    between = second - first
    distance = math.hypot(between[0], between[2])
    along = (first_length**2 - second_length**2 + distance**2) / (2 * distance)
    across = side * math.sqrt(first_length**2 - along**2)
    unit = between / distance
    return first + along * unit + across * np.array([-unit[2], 0.0, unit[0]])


# --- linkages of the plane xz -----------------------------------------------------------------------------------------


FOUR_BAR = {"crank": 0.2, "coupler": 0.4, "rocker": 0.35, "ground": 0.45}
FOUR_BAR_REST = 0.9  # [rad] of the crank


def four_bar_joints(crank_angle, lengths=FOUR_BAR, side=1.0):
    """The four joints in order round the ring; the crank turns from x towards z."""
    start, end = np.zeros(3), np.array([lengths["ground"], 0.0, 0.0])
    elbow = lengths["crank"] * np.array([math.cos(crank_angle), 0.0, math.sin(crank_angle)])
    return start, elbow, meet(elbow, lengths["coupler"], end, lengths["rocker"], side), end


def four_bar(lengths=FOUR_BAR):
    """Crank a, coupler b and rocker c. The coupler ends at the rocker."""
    start, elbow, knee, end = four_bar_joints(FOUR_BAR_REST, lengths)
    coupler = body(
        "coupler", elbow - start, joint("b", (0, -1, 0)) + f'<site name="tip" pos="{text_of(knee - elbow)}"/>'
    )
    return write_model(
        body("crank", start, joint("a", (0, -1, 0)) + coupler) + body("rocker", end, joint("c", (0, -1, 0))),
        [connect("rod", "coupler", "rocker", knee - elbow)],
    )


def four_bar_q(crank_angle, lengths=FOUR_BAR, side=1.0):
    """q (a, b, c) in closed form; the sides are the two branches."""
    rest, now = four_bar_joints(FOUR_BAR_REST, lengths), four_bar_joints(crank_angle, lengths, side)
    a, b, c = (_turn(rest[j] - rest[i], now[j] - now[i]) for i, j in ((0, 1), (1, 2), (3, 2)))
    return np.array([a, _wrap(b - a), c])


def _turn(before, after):
    """The angle from x towards z between two directions of the plane."""
    return _wrap(math.atan2(after[2], after[0]) - math.atan2(before[2], before[0]))


def _wrap(angle):
    return (angle + math.pi) % (2 * math.pi) - math.pi


FIVE_BAR = {"ground": 0.2, "crank": 0.15, "rod": 0.25}


def five_bar(lengths=FIVE_BAR):
    """Two cranks a, c with rods b, d that end at one point, the tip: two degrees of freedom."""
    left, right = np.zeros(3), np.array([lengths["ground"], 0.0, 0.0])
    elbows = [
        base + lengths["crank"] * np.array([math.cos(t), 0.0, math.sin(t)]) for base, t in ((left, 2.0), (right, 1.0))
    ]
    tip = meet(elbows[0], lengths["rod"], elbows[1], lengths["rod"])
    bodies = ""
    for base, elbow, (crank, rod) in zip((left, right), elbows, ("ab", "cd"), strict=True):
        site = f'<site name="tip_{rod}" pos="{text_of(tip - elbow)}"/>'
        bodies += body(
            f"crank_{crank}",
            base,
            joint(crank, (0, -1, 0)) + body(f"rod_{rod}", elbow - base, joint(rod, (0, -1, 0)) + site),
        )
    return write_model(bodies, [connect("tip", "rod_b", "rod_d", tip - elbows[0])])


# --- Stewart platform -------------------------------------------------------------------------------------------------


STEWART_RADII, STEWART_HEIGHT = (0.5, 0.3), 0.6
_BASE_ANGLES = np.radians([-10, 10, 110, 130, 230, 250])
_TOP_ANGLES = np.radians([-50, 50, 70, 170, 190, 290])


def stewart_anchors():
    """Anchors (6, 3) of the legs: at the base in the world, and on the platform in its frame."""
    base, top = (
        radius * np.stack([np.cos(angles), np.sin(angles), np.zeros(6)], axis=1)
        for radius, angles in zip(STEWART_RADII, (_BASE_ANGLES, _TOP_ANGLES), strict=True)
    )
    return base, top


def _stewart_legs():
    """Rest direction (6, 3), rotation (6, 4) and length (6,) of each leg."""
    base, top = stewart_anchors()
    legs = top + STEWART_HEIGHT * _Z - base
    sizes = np.linalg.norm(legs, axis=1)
    return np.array([rotations.rotation_between(_Z, leg / size) for leg, size in zip(legs, sizes, strict=True)]), sizes


def stewart(platform="slides"):
    """Six legs, each two hinges and a slide, that end at the platform. It moves by slides and a ball, or freely."""
    base, top = stewart_anchors()
    leg_rotations, sizes = _stewart_legs()
    motion = '<freejoint name="platform"/>'
    if platform == "slides":
        slides = [
            f'<joint name="{name}" type="slide" axis="{text_of(axis)}"/>'
            for name, axis in zip("xyz", np.eye(3), strict=True)
        ]
        motion = "".join(slides) + '<joint name="turn" type="ball"/>'
    bodies, loops = body("top", STEWART_HEIGHT * _Z, motion + '<site name="tool" pos="0 0 0.1"/>'), []
    for i in range(6):
        rod = body(f"rod{i}", (0, 0, 0), f'<joint name="slide{i}" type="slide" axis="0 0 1" range="-0.4 0.4"/>')
        hinges = joint(f"roll{i}", (1, 0, 0)) + joint(f"pitch{i}", (0, 1, 0))
        bodies += body(f"leg{i}", base[i], hinges + rod, leg_rotations[i])
        loops.append(connect(f"leg{i}", f"rod{i}", "top", (0, 0, sizes[i])))
    assert len(top) == len(loops)
    return write_model(bodies, loops)


def stewart_q(shift, turn):
    """q of the platform moved by `shift` (3,) and turned by `turn` (4,), with its legs: 3 + 4 + 6 * 3 numbers."""
    base, top = stewart_anchors()
    leg_rotations, sizes = _stewart_legs()
    turns = np.broadcast_to(turn, (6, 4))
    ends = STEWART_HEIGHT * _Z + np.asarray(shift) + rotations.rotate(turns, top) - base
    x, y, z = rotations.rotate(rotations.inverse(leg_rotations), ends).T
    lengths = np.sqrt(x**2 + y**2 + z**2)
    legs = np.stack([np.arctan2(-y, z), np.arcsin(x / lengths), lengths - sizes], axis=1)
    return np.concatenate([shift, turn, legs.ravel()])


# --- a leg with the two loops of Cassie's -----------------------------------------------------------------------------
#
# Lengths [m] are those of Cassie's thigh, shin, tarsus and foot with the achilles and the plantar rod; the plane of the
# leg is xy. At rest it stands bent. The heel and the lever of the foot are turned so that both rods have their lengths.


KNEE_ANGLE, TARSUS_ANGLE, FOOT_ANGLE = -1.2, 1.4267, -1.5968
THIGH, SHIN, TARSUS = (0.12, 0.0, 0.0045), (0.06068, 0.04741, 0.0), (0.43476, 0.02, 0.0)
HEEL, HEEL_POINT = (-0.01269, -0.03059, 0.00092), (0.11877, -0.01, 0.0)
ACHILLES, ACHILLES_LENGTH = (0.0, 0.0, 0.045), 0.5012
CRANK, CRANK_END, PLANTAR_LENGTH = (0.058, -0.034, -0.0103), (0.055, 0.0, -0.00791), 0.35012
FOOT, FOOT_LEVER = (0.408, -0.04, 0.0), (0.055, 0.0, -0.01821)


def _about_z(angle):
    return rotations.about(_Z, np.array(angle))


def _place(place, angle, point):
    """A point of a body that stands turned about z at a place."""
    return np.array(place) + rotations.rotate(_about_z(angle), np.array(point, dtype=np.float64))


def _find_angle(compute_length, wanted, low, high):
    """The angle at which a length is the wanted one, by bisection. The length falls or grows from low to high."""
    grows = compute_length(high) > compute_length(low)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if (compute_length(middle) < wanted) == grows else (low, middle)
    return (low + high) / 2


def leg_rest():
    """The angles of the heel and of the foot's lever at rest, and both rods in the frames of thigh and crank."""

    def span_achilles(heel):
        in_shin = _place(TARSUS, TARSUS_ANGLE, _place(HEEL, heel, HEEL_POINT))
        return _place(THIGH, KNEE_ANGLE, np.array(SHIN) + in_shin) - ACHILLES

    crank_end = _place(CRANK, FOOT_ANGLE, CRANK_END)

    def span_plantar(lever):
        return _place(FOOT, lever, FOOT_LEVER) - crank_end

    heel = _find_angle(lambda t: float(np.linalg.norm(span_achilles(t))), ACHILLES_LENGTH, 0.3, 1.8)
    lever = _find_angle(lambda t: float(np.linalg.norm(span_plantar(t))), PLANTAR_LENGTH, -2.4, -0.8)
    return heel, lever, span_achilles(heel), rotations.rotate(_about_z(-FOOT_ANGLE), span_plantar(lever))


def cassie_leg():
    """Hip of three hinges, knee, shin spring, tarsus, heel spring, foot; achilles and plantar rod close two loops."""
    heel_angle, lever, achilles_end, plantar_end = leg_rest()
    z, spring = (0, 0, 1), 'range="-0.35 0.35"'
    heel = body("heel", HEEL, joint("heel_spring", z, spring), _about_z(heel_angle))
    rod = body("plantar", CRANK_END, joint("plantar", z))
    crank = body("crank", CRANK, joint("crank", z) + rod, _about_z(FOOT_ANGLE))
    toes = body("foot", FOOT, joint("foot", z) + '<site name="toe" pos="0.09 0 0"/>', _about_z(lever))
    shank = body("tarsus", TARSUS, joint("tarsus", z) + heel + crank + toes, _about_z(TARSUS_ANGLE))
    shin = body("shin", SHIN, joint("shin_spring", z, spring) + shank)
    lower = body("knee", THIGH, joint("knee", z) + shin, _about_z(KNEE_ANGLE))
    achilles = body("achilles", ACHILLES, '<joint name="achilles" type="ball"/>')
    thigh = body("thigh", (0, 0, 0), joint("pitch", z) + achilles + lower)
    hip = body("hip", (0, 0, 1.0), joint("roll", (1, 0, 0)) + joint("yaw", (0, 1, 0)) + thigh)
    return write_model(
        hip, [connect("achilles", "achilles", "heel", achilles_end), connect("plantar", "plantar", "foot", plantar_end)]
    )


MODELS = {"four_bar": four_bar, "five_bar": five_bar, "stewart": stewart, "cassie_leg": cassie_leg}

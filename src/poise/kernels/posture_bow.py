# pyright: standard
"""Bows of trunks about placed hips, for hands and for the weight.

The pelvis takes a bow as far as hips bend over their thighs, which keeps the back straight; the spine takes the rest.
"""

from __future__ import annotations

import math

from poise.kernels.device_functions import device_function
from poise.kernels.entries import kernel
from poise.kernels.posture_maps import read_origin
from poise.kernels.posture_weight import add_up_mass
from poise.kernels.smoothing import smoothstep_between
from poise.kernels.vec_quat import (
    Vec,
    add,
    cross,
    dot,
    from_axis_angle,
    multiply,
    norm,
    read_quat_at,
    read_vec,
    read_vec_at,
    rotate,
    scale,
    sub,
    write_quat_at,
    write_vec_at,
)

# Bend of hips with bent knees ahead and back, and of a spine ahead [rad] (AAOS; Kapandji, volume 3).
HIPS_AHEAD_RAD, HIPS_BACK_RAD, SPINE_RAD = math.radians(120.0), math.radians(30.0), math.radians(105.0)
# Of the way of a shoulder to a hand's direction: the last 12 degrees are left, which arms reach that are asked for 95 %
# of their length, so that bows do not leap where a hand goes out of reach.
LEFT_OVER_RAD = math.radians(12.0)
# From straight below the hips: nearer to that a bow fades, whose side would leap there. Crawlers have hands at 45.
BELOW_RAD = math.radians(30.0)
# Largest bow for the weight [rad]. Ways to go, in parts of the farthest that a bow brings the weight: up to the first a
# figure stands by it, from the second on it sits and does not bow. From one to the other the hips of a grown-up move by
# about 10 cm, over which the bow fades.
MAX_WEIGHT_BOW_RAD, STANDS_SHARE, SITS_SHARE = math.radians(60.0), 1.0, 1.5
# Tilt of a trunk that bows no more, and fully.
LYING_COS, UPRIGHT_COS = math.cos(math.radians(85.0)), math.cos(math.radians(60.0))
MIN_CHORD_SHARE = 1e-6  # of a thigh: the shortest way from hip to foot that counts


@device_function
def compute_angle(cosine):
    """Return the angle of a cosine [rad]. Rounding may have brought it beyond 1."""
    return math.acos(min(max(cosine, -1.0), 1.0))


@device_function
def find_hand_bow(shoulder, hand, reach, facing, up):
    """Return the smallest bow ahead towards a hand [rad].

    It brings the shoulder within reach. Both are from the hips. The more a hand is beside its shoulder, the less a bow
    is for it.
    """
    aside = dot(sub(hand, shoulder), cross(up, facing))
    shoulder_ahead, shoulder_up = dot(shoulder, facing), dot(shoulder, up)
    hand_ahead, hand_up = dot(hand, facing), dot(hand, up)
    from_shoulder = math.atan2(hand_ahead, hand_up) - math.atan2(shoulder_ahead, shoulder_up)
    angle = math.atan2(math.sin(from_shoulder), math.cos(from_shoulder))
    shoulder2, hand2 = (
        shoulder_ahead * shoulder_ahead + shoulder_up * shoulder_up,
        hand_ahead * hand_ahead + hand_up * hand_up,
    )
    product = 2.0 * math.sqrt(shoulder2 * hand2)
    if not product > 0.0:  # no bow moves a shoulder on the lateral line, or brings it nearer to a hand there
        return 0.0
    cosine = shoulder2 + hand2 - max(reach * reach - aside * aside, 0.0)
    left_over = max(compute_angle(cosine / product), LEFT_OVER_RAD)
    needed = max(abs(angle) - left_over, 0.0)
    size = hand_ahead * hand_ahead + aside * aside
    # Straight below, a hand is as much ahead as behind.
    share = hand_ahead * hand_ahead / size if size > 0.0 else 0.0
    share *= smoothstep_between(math.pi - abs(angle), 0.0, BELOW_RAD)
    return share * (-min(needed, HIPS_BACK_RAD) if angle < 0.0 else needed)


@kernel("F2 I1 i F3 f F2 F1 wF1 -> i")
def find_hand_bows(maps, shoulder_rows, hips_row, hands, reach, facings, up, bows):
    """Fill bows (k,) to bring shoulders within reach of hands [rad]. Return how many are not zero.

    maps           (1|k, 12 n)  world transforms of joints
    shoulder_rows  (a,)         numbers of the maps of the arms' first joints
    hips_row                    of the hips
    hands          (k, a, 3)    places of hands
    reach                       mean reach of the arms
    facings        (k, 3)       level front of the pelvis
    up             (3,)         against gravity
    """
    up_vector, arm_count, bowed_count = Vec(up[0], up[1], up[2]), shoulder_rows.shape[0], 0
    for k in range(hands.shape[0]):
        own = maps[k if maps.shape[0] > 1 else 0]
        shoulder, hand, hips = Vec(0.0, 0.0, 0.0), Vec(0.0, 0.0, 0.0), read_origin(own, hips_row)
        for j in range(arm_count):
            shoulder, hand = add(shoulder, read_origin(own, shoulder_rows[j])), add(hand, read_vec(hands[k], j))
        shoulder, hand = scale(shoulder, 1.0 / arm_count), scale(hand, 1.0 / arm_count)
        bows[k] = find_hand_bow(sub(shoulder, hips), sub(hand, hips), reach, read_vec_at(facings[k], 0), up_vector)
        bowed_count += 1 if bows[k] != 0.0 else 0
    return bowed_count


@kernel("F2 I1 F1 F2 f i F2 F2 F2 F1 wF1 -> i")
def find_weight_bows(
    maps, mass_rows, shares, centres, upper_share, hips_row, offsets, start_offsets, facings, up, bows
):
    """Fill bows (k,) to bring the weight above its support [rad]. Return how many are not zero.

    All above the legs has its mass centre h above the hips and e ahead of them. A bow by a moves it by
    h sin a + e (cos a - 1), and the whole figure by its share of that. A trunk that lies or hangs does not bow.

    maps           (1|k, 12 n)  world transforms of joints
    mass_rows      (m,)         numbers of the maps of all above the legs
    shares         (m,)         of the mass of these, whose sum is 1
    centres        (m, 3)       of each one's mass in its frame
    upper_share                 of the whole mass
    hips_row                    number of the map of the hips
    offsets        (k, 3)       level ways from the mass centre to its support
    start_offsets  (1|k, 3)     the same of the start, which are wanted
    facings        (k, 3)       level front of the pelvis
    up             (3,)         against gravity
    """
    up_vector, bowed_count = Vec(up[0], up[1], up[2]), 0
    for k in range(offsets.shape[0]):
        own, facing = maps[k if maps.shape[0] > 1 else 0], read_vec_at(facings[k], 0)
        missing = dot(read_vec_at(offsets[k], 0), facing)
        at_start = dot(read_vec_at(start_offsets[k if start_offsets.shape[0] > 1 else 0], 0), facing)
        missing = max(missing - max(at_start, 0.0), 0.0) + min(missing - min(at_start, 0.0), 0.0)
        bows[k] = 0.0
        if missing == 0.0:
            continue
        offset = sub(add_up_mass(own, mass_rows, shares, centres), read_origin(own, hips_row))
        above, along, radius = dot(offset, up_vector), dot(offset, facing), norm(offset)
        if not radius > 0.0:
            continue
        sine = (missing / upper_share + along) / math.sqrt(above * above + along * along)
        bow = math.asin(min(max(sine, -1.0), 1.0)) - math.atan2(along, above)
        bow = min(max(bow, -HIPS_BACK_RAD), MAX_WEIGHT_BOW_RAD)
        bow *= smoothstep_between(abs(sine), SITS_SHARE, STANDS_SHARE)
        bows[k] = bow * smoothstep_between(above / radius, LYING_COS, UPRIGHT_COS)
        bowed_count += 1 if bows[k] != 0.0 else 0
    return bowed_count


@device_function
def find_hip_room(maps, leg_rows, bones, feet, facing, up):
    """Return how far a pelvis may bow over its thighs [rad]."""
    used = 0.0
    for j in range(leg_rows.shape[0]):
        thigh, shin = bones[j, 0], bones[j, 1]
        chord = sub(read_vec(feet, j), read_origin(maps, leg_rows[j]))
        length = min(max(norm(chord), max(abs(thigh - shin), MIN_CHORD_SHARE * thigh)), thigh + shin)
        at_hip = compute_angle((thigh * thigh + length * length - shin * shin) / (2.0 * thigh * length))
        used = max(used, at_hip + math.atan2(dot(chord, facing), -dot(chord, up)))
    return max(HIPS_AHEAD_RAD - used, 0.0)


@kernel("F2 i i F2 I1 F2 F3 F2 F1 i F1 wF2 wF2 wF1 wF2 ->")
def bow_trunks(
    maps, hips_row, root_row, root_turns, leg_rows, bones, feet, facings, up, spine_count, bows, placements, leans,
    bends, axes,
):  # fmt: skip
    """Bow trunks by angles (k,) about their hips.

    maps         (1|k, 12 n)  world transforms of joints
    hips_row                  number of the map of the hips
    root_row                  of the root
    root_turns   (1|k, 4)     world rotations of the root
    leg_rows     (l,)         of the legs' first joints
    bones        (l, 2)       lengths of thighs and shins
    feet         (k, l, 3)    places of the feet
    facings      (k, 3)       level front of the pelvis
    up           (3,)         against gravity
    spine_count               joints of the spine that bend; without any the pelvis bows alone
    placements   (k, 7)       of the root
    leans        (k, 4)       turns of the pelvis
    bends        (k,)         of each spine joint [rad]
    axes         (k, 3)       of these bends
    """
    up_vector = Vec(up[0], up[1], up[2])
    for k in range(bows.shape[0]):
        own, facing = maps[k if maps.shape[0] > 1 else 0], read_vec_at(facings[k], 0)
        left, room = cross(up_vector, facing), HIPS_AHEAD_RAD
        if spine_count > 0:
            room = find_hip_room(own, leg_rows, bones, feet[k], facing, up_vector)
        pelvis = min(bows[k], room)
        turn, hips = from_axis_angle(left, pelvis), read_origin(own, hips_row)
        write_vec_at(placements[k], 0, add(hips, rotate(turn, sub(read_origin(own, root_row), hips))))
        root_turn = read_quat_at(root_turns[k if root_turns.shape[0] > 1 else 0], 0)
        write_quat_at(placements[k], 3, multiply(turn, root_turn))
        write_quat_at(leans[k], 0, turn)
        write_vec_at(axes[k], 0, left)
        bends[k] = min(bows[k] - pelvis, SPINE_RAD) / max(spine_count, 1)

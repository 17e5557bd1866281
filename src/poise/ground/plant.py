"""plant_feet(): put a clip's feet on the ground; lock_feet(): keep them still on the ground that they were on."""

from __future__ import annotations

import numpy as np

from poise.ground.contacts import stances
from poise.ground.feet import place_feet
from poise.ground.footing import Footing
from poise.ground.legs import bend_axes, bend_legs, heel_room, lifted, needed_lift, raise_toes, soft_chords, step_back
from poise.ground.motion import HIP, motion_of
from poise.ground.pelvis import longest_chords, pelvis_heights
from poise.ground.plants import find_plants
from poise.ground.travel import in_place as ground_speed
from poise.ground.travel import travelled
from poise.ground.written import write_poses

STEEPEST = np.radians(40.0)


def pipeline(clip, terrain, figure, contacts=None, soles=None, steepest=STEEPEST, farthest=0.15):
    motion = motion_of(clip, figure)
    speed = ground_speed(motion)
    offsets = np.zeros((len(motion), 3))
    if speed is not None:
        motion, offsets = travelled(motion, speed)
    if soles is None:
        soles, contacts = stances(motion)
    footing = Footing(terrain, figure)
    plants = find_plants(motion, soles, contacts, footing, steepest=steepest, farthest=farthest)
    feet = place_feet(motion, soles, contacts, plants, footing)
    longest = longest_chords(motion)
    room = heel_room(motion, feet)
    up = pelvis_heights(motion, lifted(feet, room).ankles, feet.rise, longest, contacts.any)
    hips = motion.places[:, :, HIP] + np.stack([0 * up, 0 * up, up], axis=-1)[:, None]
    feet = lifted(feet, needed_lift(feet, hips, soft_chords(motion, feet, hips, longest), room))
    axes = bend_axes(motion)
    chords = np.where(contacts.any, longest, soft_chords(motion, feet, hips, longest))
    turned = raise_toes(motion, soles, bend_legs(motion, axes, feet, hips, chords), footing)
    clear = step_back(motion, soles, feet, turned, contacts.any, footing)
    if clear is not feet:
        turned = raise_toes(motion, soles, bend_legs(motion, axes, clear, hips, chords), footing)
    offsets = offsets + np.stack([0 * up, 0 * up, up], axis=-1)
    return write_poses(clip.poses, motion, offsets, turned), motion, soles, contacts, plants, feet, turned

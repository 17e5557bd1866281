"""A walk on a slope, frame by frame as in a game."""

import numpy as np

import poise
from poise import samples

clip = poise.load(samples.path("humanoid.glb")).clips[0]
walk = poise.plant_feet(clip, poise.Terrain.flat()).travelled  # the clip walks in place: a game moves its character

slope = poise.Terrain.slope(12)
grounder = poise.Grounder(clip, slope)  # soles and knee directions come from the clip
step = 1 / 60
shown: list[np.ndarray] = []
for time in np.arange(0.0, walk.duration, step):
    pose = grounder(walk.at(time), dt=step)
    shown.append(pose.world["LeftFoot"].positions)
    if len(shown) % 12 == 1:
        print(f"{time:.2f} s: feet locked {grounder.locked.tolist()}, the pelvis {100 * grounder.pelvis:+.1f} cm")

# the same clip, planted as a whole, with all later footfalls known
whole = poise.plant_feet(clip, slope)
there = whole.at(np.arange(len(shown)) * step).world["LeftFoot"].positions
off = np.linalg.norm(shown - there, axis=-1) / grounder.figure.metre
print(f"left ankle, live from whole: {100 * np.median(off):.1f} cm half of the time, {100 * off.max():.1f} cm at most")
assert np.median(off) < 0.05

# a crowd is a pose with one more axis; each has a state of its own
crowd = poise.Grounder(clip, slope)
print(crowd(walk.at([0.1, 0.4, 0.7]), dt=0.0), crowd.contacts.shape)  # Pose(..., batch (3,)) (3, 2, 2)

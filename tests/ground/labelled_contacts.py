"""Contacts of heel and ball in three travelling clips, labelled by hand: {clip: {leg: {point: [(start, end)]}}} [s].

How they were made, before any detector was: points on the sole were carried by the foot's joint from one frame of flat
stance that was picked by eye (heel 0.3 of the foot's length behind the ankle, ball under the toes' joint, both on the
floor), and their height, their horizontal and their vertical speed were drawn against time, 120 frames a second, half
a second to a hand's breadth. A contact starts where a point has come down and stopped, and ends where it begins to
leave. They were read from the pictures to about 10 ms and are not to be made again from what a detector says.

What is certain: the heel's strike and the last of the ball, within about 20 ms. What is not:

- a heel's rise is slow (1 cm in 0.1 s): the label is where it is about 1 cm up, within about 30 ms;
- the foot of walk_mass comes down to the ball without a kink (2 cm in 60 ms): the label is 1 cm up, within 30 ms;
- right after the strike the heels of cmu_12_01_walk slip by about 1 cm (at 2.15, 1.52 and 2.79 s): the contact is
  labelled from the strike;
- the ball of cmu_12_01_walk rolls up by 2 cm over the toes before it leaves: labelled until it moves on;
- the left foot of walk_mass slides at 0.2 m/s over its last 0.1 s: it stands, and that is skate.

Frame 0 of cmu_12_01_walk is a T-pose: nothing stands there. Contacts that touch an end of a clip begin or end there.
"""

LABELS = {
    "cmu_12_01_walk": {
        "left": {
            "heel": [(0.01, 0.13), (0.875, 1.375), (2.135, 2.68), (3.43, 3.99)],
            "ball": [(0.01, 0.365), (0.95, 1.61), (2.23, 2.92), (3.51, 4.26)],
        },
        "right": {
            "heel": [(0.205, 0.735), (1.48, 2.03), (2.76, 3.31), (4.08, 4.36)],
            "ball": [(0.285, 0.965), (1.60, 2.23), (2.875, 3.53), (4.18, 4.36)],
        },
    },
    "walk_mass": {
        "left": {"heel": [(0.0, 0.30), (0.88, 1.10)], "ball": [(0.0, 0.425), (1.0, 1.10)]},
        "right": {"heel": [(0.34, 0.79)], "ball": [(0.48, 0.96)]},
    },
    "run_mass": {
        "left": {"heel": [(0.0, 0.045)], "ball": [(0.0, 0.11)]},
        "right": {"heel": [(0.28, 0.335)], "ball": [(0.28, 0.395)]},
    },
}

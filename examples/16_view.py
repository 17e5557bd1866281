"""The viewer from Python: a draggable handle, a Tracker, the displayed pose.

In a terminal it opens the browser and runs until the page is closed; elsewhere it moves the handle itself and ends.
"""

import sys

import poise
from poise import samples

rig = poise.load(samples.path("humanoid.glb"))
tracker = poise.Tracker(rig.rest, poise.Position("LeftHand", [0.3, 1.2, 0.4], root="LeftArm"))
someone = sys.stdout.isatty() and len(sys.argv) == 1

with poise.view(rig, open_browser=someone) as view:
    ball = view.handle("target", at=[0.3, 1.2, 0.4])
    result = tracker(ball.position)
    for frame in view.frames(fps=60):
        if not someone:
            ball.position = ball.position + [0.0, 0.01, 0.0]  # without a user: move up
        result = tracker(ball.position, dt=frame.dt)
        view.pose = result.pose
        if not someone and frame.number == 20:
            break

print(result)  # reached: 0 mm left, 1 iteration, ... (natural, two_bone)
print("the handle is at", ball.position)  # the handle is at [0.3 1.41 0.4]
if not someone:
    assert result.reached
    assert abs(ball.position[1] - 1.41) < 1e-9

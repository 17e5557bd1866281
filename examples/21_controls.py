"""A script with controls in the viewer: a slider, a button, a text, and marked points.

In a terminal it opens the browser and runs until the page is closed; elsewhere it uses the controls itself and ends.
"""

import sys

import numpy as np

import poise
from poise import samples

rig = poise.load(samples.path("humanoid.glb"))
tracker = poise.Tracker(rig.rest, poise.Position("LeftHand", [0.3, 1.2, 0.4], root="LeftArm"))
someone = sys.stdout.isatty() and len(sys.argv) == 1

with poise.view(rig, open_browser=someone) as view:
    height = view.slider("height", 0.9, 1.6, 1.2)
    again = view.button("forget the way")
    message_text = view.text("result")
    way: list[np.ndarray] = []
    result = tracker([0.3, height.value, 0.4])
    for frame in view.frames(fps=60):
        if not someone:
            height.value += 0.01  # without a user: move up
        result = tracker([0.3, height.value, 0.4], dt=frame.dt)
        if again.pressed:
            way.clear()
        way.append(result.pose.world["LeftHand"].positions)
        view.pose = result.pose
        view.marks(np.array(way[-200:]), name="way of the hand")
        message_text.value = result.message()
        if not someone and frame.number == 20:
            break

print(message_text.value)  # reached: 0 mm left, 1 iteration
print("the slider is at", height.value)  # the slider is at 1.41
if not someone:
    assert result.reached
    assert abs(height.value - 1.41) < 1e-9
    assert len(way) == 21

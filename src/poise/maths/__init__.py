"""Arrays and numbers without a skeleton: rotations, vectors, smoothing.

`arrays` has the array types and checks of numbers. `rotations` computes with unit quaternions (`poise.rotations` is its
public form with checked arguments), `euler` converts Euler angles, `vectors` measures lengths and directions,
`frame_masks` fades between frames, `smoothing` filters curves. Nothing here compiles a kernel.
"""

"""Arrays and numbers without a skeleton: rotations, vectors, argument checks.

`arrays` has the array types and checks of numbers, `arguments` checks of texts and options. `rotations` computes with
unit quaternions (`poise.rotations` is its public form with checked arguments), `euler` converts Euler angles,
`vectors` measures lengths and directions, `frame_masks` fades between frames, `smoothing` filters curves.
`formatting` writes numbers as text, `old_names` makes aliases of renamed functions, and `late_binding` calls functions
of higher packages. Nothing here compiles a kernel.
"""

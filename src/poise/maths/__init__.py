"""Arrays and numbers without a skeleton: rotations, vectors, argument checks.

`arrays` has the array types and checks of numbers, `arguments` checks of texts and options. `rotations` computes with
unit quaternions (`poise.rotations` is its public form with checked arguments), `euler` converts Euler angles,
`geometry` measures vectors and angular errors, `smoothing` filters curves. `caching` stores results derived from
immutable values, `formatting` writes them as text, and `late_binding` calls functions of higher packages. Nothing
here compiles a kernel.
"""

# pyright: standard
"""Scalar and SIMD maths of the kernels.

`lanes` defines numbers and lanes, `vec_quat` vectors and quaternions, `matrices` small systems, eigenvalues and
rotations of matrices, `springs` critically damped springs.
"""

from __future__ import annotations

from poise.kernels.on_demand import imported_when_asked

__getattr__ = imported_when_asked(
    __name__,
    "axes",
    "davenport",
    "eigen",
    "lanes",
    "linear",
    "small_solve",
    "springs",
    "turns",
)

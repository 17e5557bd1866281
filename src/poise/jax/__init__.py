"""Differentiable kinematics in JAX: poses and goals inside your own losses. An extra: `pip install 'poise[jax]'`.

`forward(skeleton)` computes joint frames, `retract(skeleton)` moves q by a displacement, `residual(pose, goals)`
measures goals: pure functions for JAX to differentiate, compile and vectorise. Results have the precision of their
arguments: float32 unless you enable 64 bits in JAX. JAX's configuration is not changed. Import it as
`import poise.jax`.
"""

from __future__ import annotations

import importlib

from poise.errors import UnsupportedError

try:
    importlib.import_module("jax")
except ImportError as error:
    raise UnsupportedError("automatic differentiation needs JAX: pip install 'poise[jax]'") from error

from poise.jax.goal_residual import residual as residual
from poise.jax.kinematics import Frames as Frames
from poise.jax.kinematics import forward as forward
from poise.jax.kinematics import retract as retract

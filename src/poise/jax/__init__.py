"""Differentiable kinematics in JAX: poses and goals inside your own losses. An extra: `pip install 'poise[jax]'`.

`forward(skeleton)` places joints, `retract(skeleton)` moves q by velocities, `residual(pose, goals)` measures goals:
pure functions that JAX can differentiate, compile and vectorise. Their numbers have the precision of their arguments:
float32 unless you enable 64 bits in JAX. Nothing of JAX's configuration is changed. Import it as `import poise.jax`.
"""

from __future__ import annotations

from poise.errors import UnsupportedError

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    raise UnsupportedError("automatic differentiation needs JAX: pip install 'poise[jax]'") from error

from poise.jax.forward import Frames as Frames
from poise.jax.forward import forward as forward
from poise.jax.forward import retract as retract
from poise.jax.residual import residual as residual

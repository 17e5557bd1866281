"""Forward kinematics in a JAX loss: gradients pull both hands together. Needs the extra `jax`."""

import sys
from collections.abc import Callable

import numpy as np

import poise
from poise import samples

try:
    import jax
    import jax.numpy as jnp

    import poise.jax
except (ImportError, poise.UnsupportedError):
    sys.exit("this example needs JAX: pip install 'poise[jax]'")

figure = poise.load(samples.path("humanoid.bvh"))
skeleton, q = figure.skeleton, jnp.asarray(figure.rest.q)
hands = poise.jax.forward(skeleton, ["LeftHand", "RightHand"])
move = poise.jax.retract(skeleton)


def apart(v: jax.Array, q: jax.Array) -> jax.Array:
    """The squared distance of the hands, in the numbers in which a pose may move."""
    left, right = hands(move(q, v)).positions
    return jnp.sum((left - right) ** 2)


step: Callable[..., tuple[jax.Array, jax.Array]] = jax.jit(jax.value_and_grad(apart))
still = np.zeros(skeleton.nv)
value, slope = step(still, q)
before = float(value)
for _ in range(20):
    q = move(q, -0.2 * slope)
    value, slope = step(still, q)
print(f"hands {before**0.5:.2f} m apart, {float(value) ** 0.5:.2f} m after 20 steps")
assert value < before

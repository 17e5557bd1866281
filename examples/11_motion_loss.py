"""Forward kinematics in a JAX loss: gradients pull both hands together. Needs the extra `jax`."""

import sys

import numpy as np

import poise
from poise import samples

try:
    import jax

    import poise.jax
except (ImportError, poise.UnsupportedError):
    sys.exit("this example needs JAX: pip install 'poise[jax]'")

figure = poise.load(samples.path("humanoid.bvh"))
skeleton, q = figure.skeleton, figure.rest.q
hands = poise.jax.forward(skeleton, ["LeftHand", "RightHand"])
move = poise.jax.retract(skeleton)


def apart(v: jax.Array, q: jax.Array) -> jax.Array:
    """The squared distance of the hands, in the numbers in which a pose may move."""
    left, right = hands(move(q, v)).positions
    return ((left - right) ** 2).sum()


step = jax.jit(jax.value_and_grad(apart))
still = np.zeros(skeleton.nv)
before, _ = step(still, q)
for _ in range(20):
    _, slope = step(still, q)
    q = move(q, -0.2 * slope)
after, _ = step(still, q)
print(f"hands {float(before) ** 0.5:.2f} m apart, {float(after) ** 0.5:.2f} m after 20 steps")
assert after < before

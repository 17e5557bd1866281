"""The bundled walk with its feet planted on bundled hills."""

from __future__ import annotations

from poise.io import samples
from poise.io.registry import load
from poise.viewer.document.document import Document, build_document

TITLE = "Walk on hills"
TEXT = "A walk that was made on a flat floor, its feet planted on hills. Play it, change the ground, switch Plant off."
HINT = "Choose another ground below, or switch plant feet off"
ORDER = 70


def make() -> Document:
    """Build the walk, ready to play, chains switched off."""
    rig = load(samples.path("humanoid.glb"))
    document = build_document(rig, scope="limbs", clip_name=rig.clips[0].name, plants_feet=True, terrain_spec="hills")
    return document.replace(chains=tuple(chain.replace(enabled=False) for chain in document.chains))

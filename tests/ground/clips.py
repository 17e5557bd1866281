"""Real clips by short names, and the same clip in other units, upright another way, at another rate."""

from __future__ import annotations

import dataclasses
import warnings
from functools import cache
from pathlib import Path

import poise
from poise import Clip, Terrain

TRAVELLING = ("cmu_12_01_walk", "walk_mass", "run_mass")
IN_PLACE = {
    "knight walks": ("glb/knight_kaykit.glb", "Walking_A"),
    "knight walks otherwise": ("glb/knight_kaykit.glb", "Walking_C"),
    "knight runs": ("glb/knight_kaykit.glb", "Running_A"),
    "robot walks": ("glb/robot_quaternius.glb", "Robot_Walking"),
    "robot runs": ("glb/robot_quaternius.glb", "Robot_Running"),
    "fox walks": ("glb/fox.glb", "Walk"),
    "fox runs": ("glb/fox.glb", "Run"),
    "woman walks": ("bvh/walk_makehuman_zup.bvh", None),
}
STANDING = {
    "knight stands": ("glb/knight_kaykit.glb", "Idle"),
    "knight in a T-pose": ("glb/knight_kaykit.glb", "T-Pose"),
    "knight sits on the floor": ("glb/knight_kaykit.glb", "Sit_Floor_Idle"),
    "knight lies": ("glb/knight_kaykit.glb", "Lie_Idle"),
    "robot stands": ("glb/robot_quaternius.glb", "Robot_Idle"),
    "fox looks about": ("glb/fox.glb", "Survey"),
}
CYCLES = {
    "knight walks on": ("glb/knight_kaykit.glb", "Walking_B"),
    "man walks": ("glb/cesium_man.gltf", None),
}
FIGHTING = {"knight stabs": ("glb/knight_kaykit.glb", "2H_Melee_Attack_Stab")}
FILES = {name: (f"bvh/{name}.bvh", None) for name in TRAVELLING} | IN_PLACE | STANDING | CYCLES | FIGHTING


@cache
def _loaded(path: Path) -> poise.Rig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rig = poise.load(path)
    return with_reported_roles(rig) if path.name == "cesium_man.gltf" else rig


def with_reported_roles(rig: poise.Rig) -> poise.Rig:
    """The rig with the roles that structure shows, as its sidecar would say them, which planting asks for."""
    roles = dict(poise.find_roles(rig).joints)
    message = rig.with_skeleton(dataclasses.replace(rig.skeleton, roles=roles))
    return dataclasses.replace(message, humanoid=roles, sidecar_roles=frozenset(roles))


def clip_of(data: Path, name: str) -> tuple[poise.Rig, Clip]:
    """The rig and the clip of a short name."""
    file, clip = FILES[name]
    rig = _loaded(data / file)
    return rig, rig.clip(clip) if clip else rig.clips[0]


def ground_of(kind: str, up: str) -> Terrain:
    """The ground of a kind."""
    made = {
        "flat": lambda: Terrain.flat(up=up),
        "slope": lambda: Terrain.slope(15, up=up),
        "slope down": lambda: Terrain.slope(-15, up=up),
        "stairs": lambda: Terrain.stairs(0.15, 0.30, up=up),
        "noise": lambda: Terrain.noise(0.05, 1.0, up=up),
    }
    return made[kind]()

"""Role search in a rig, with the declared roles, skins and clips of its file."""

from __future__ import annotations

from poise.errors import InputError
from poise.model.rig import Rig
from poise.model.roles.bone_names import BONES
from poise.model.roles.character_tree import CharacterTree, Role
from poise.model.roles.roles import Roles, compute_scaled_positions, search_skeleton, search_tree
from poise.model.skeleton import Skeleton


def search_roles(rig: Rig | Skeleton) -> Roles:
    """Find the roles of a character's joints.

    Parameters
    ----------
    rig
        A rig, or a skeleton alone.

    Returns
    -------
    Roles
        Sources, the most reliable first: the sidecar, the file's own VRM map, names, structure and position at rest.
    """
    if isinstance(rig, Skeleton):
        return search_skeleton(rig)
    if not isinstance(rig, Rig):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"humanoid() takes a Rig or a Skeleton, not a {type(rig).__name__}")
    index, sidecar = rig.skeleton.index, rig.sidecar_roles
    declared = {
        role: Role(index(joint), 1.0, "the sidecar" if role in sidecar else "the file's VRM map")
        for role, joint in rig.humanoid.items()
        if role in BONES
    }
    return search_tree(_build_character_tree(rig), declared)


def _build_character_tree(rig: Rig) -> CharacterTree:
    skeleton = rig.skeleton
    skinned = frozenset(skeleton.index(joint) for skin in rig.skins for joint in skin.joints)
    first = next((clip.poses[0] for clip in rig.clips if len(clip)), None) if skeleton.up is None else None
    moved = None if first is None else compute_scaled_positions(first.skeleton, first.q, first.translations)
    return CharacterTree(skeleton, compute_scaled_positions(skeleton, rig.rest.q), moved, skinned)

"""Bone names of VRM 1.0, used as roles."""

from __future__ import annotations

SIDES = ("left", "right")
FINGER_BONES = tuple(
    f"{finger}{segment}"
    for finger in ("Thumb", "Index", "Middle", "Ring", "Little")
    for segment in (
        ("Metacarpal", "Proximal", "Distal") if finger == "Thumb" else ("Proximal", "Intermediate", "Distal")
    )
)
_MIDDLE = ("hips", "spine", "chest", "upperChest", "neck", "head", "jaw")
_LIMBS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
_PAIRS = ("Eye", "Shoulder", *_LIMBS, "Toes", *FINGER_BONES)

REQUIRED = ("hips", "spine", "head", *(f"{side}{bone}" for side in SIDES for bone in _LIMBS))
"""The 15 bones of every VRM 1.0 humanoid."""

BONES = (*_MIDDLE, *(f"{side}{bone}" for side in SIDES for bone in _PAIRS))
"""All 55 bones."""

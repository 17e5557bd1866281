"""Known naming conventions. They raise the confidence in names."""

from __future__ import annotations

import re
from collections.abc import Iterable

# One pattern per convention, for names unique to it; the first pattern with enough matches is the rig's.
_SIGNS = {
    "Mixamo": r"mixamorig\d*[:_]?[A-Z]",
    "HumanIK": r"Character\d*_(Hips|Left|Right)",
    "CMU": r"[LR]HipJoint|[lr](femur|humerus)",
    "Biped": r"(ValveBiped[._])?Bip\d+[ _]",
    "VRoid": r"J_Bip_[CLR]_",
    "Rigify": r"(DEF|ORG)-(spine|thigh|upper_arm)",
    "Reallusion": r"CC_Base_",
    "Unreal": r"(thigh|calf|upperarm|lowerarm|clavicle)[_.][lr]$",
    "KayKit": r"(upperleg|lowerleg|upperarm|lowerarm)\.[lr]$",
    "Daz": r"[lr](Shldr|Thigh|Forearm)(Bend|Twist)|[lr]Shldr$",
    "MakeHuman": r"(upperleg|lowerleg|upperarm|lowerarm)0[12]\.[LR]$",
    "OptiTrack": r"(\w+_)?[LR](UArm|FArm)$",
    "VRM": r"(left|right)(Upper|Lower)(Leg|Arm)$",
    "Godot": r"(Left|Right)(Upper|Lower)(Leg|Arm)$",
    "Mixamo or HumanIK": r"(.*[:_])?(Left|Right)(UpLeg|ForeArm)$",
    "SMPL": r"(left|right)_(hip|knee|collar|elbow)$",
    "Biovision": r"(Left|Right)(Hip|Knee|Collar|Elbow|UpLeg|LowLeg|UpArm|LowArm)$",
    "Blender": r"(thigh|shin|upper_arm|forearm)\.[LR]$",
    "URDF": r"(left|right)_(hip|shoulder)_(pitch|roll|yaw)",
}
_ENOUGH = 2
_PATTERNS = {name: re.compile(sign) for name, sign in _SIGNS.items()}


def convention(names: Iterable[str]) -> str:
    """Find the naming convention of joint names, or ""."""
    names = list(names)
    for known, pattern in _PATTERNS.items():
        if sum(pattern.match(name) is not None for name in names) >= _ENOUGH:
            return known
    return ""

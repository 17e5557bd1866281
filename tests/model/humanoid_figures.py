"""Made-up figures: one body, named by one convention after another."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import poise
from poise.model.joints import Kind
from poise.model.roles.bone_names import SIDES

# role -> the role it hangs at, and where it stands: y up, looking along +z; the left side of the limbs
_MIDDLE = {
    "hips": ("", (0.0, 1.0, 0.0)), "spine": ("hips", (0.0, 1.1, 0.0)), "chest": ("spine", (0.0, 1.25, 0.0)),
    "upperChest": ("chest", (0.0, 1.38, 0.0)), "neck": ("upperChest", (0.0, 1.5, 0.0)),
    "head": ("neck", (0.0, 1.6, 0.02)),
}  # fmt: skip
_LIMBS = {
    "Shoulder": ("upperChest", (0.03, 1.45, 0.0)), "UpperArm": ("Shoulder", (0.18, 1.45, 0.0)),
    "LowerArm": ("UpperArm", (0.45, 1.45, -0.01)), "Hand": ("LowerArm", (0.7, 1.45, 0.0)),
    "UpperLeg": ("hips", (0.1, 0.95, 0.0)), "LowerLeg": ("UpperLeg", (0.1, 0.5, 0.02)),
    "Foot": ("LowerLeg", (0.1, 0.08, 0.0)), "Toes": ("Foot", (0.1, 0.02, 0.13)),
}  # fmt: skip


@dataclass(frozen=True)
class Convention:
    """How a convention names a body.

    middle, arm, leg  names in the order of the roles above, "-" for one that is not there, "a+b" for two joints in
                      line of which the first has the role; `sided` puts a side around the names of limbs
    extra             further joints: (name, role it hangs at); {S} {s} {L} {l} make one for each side
    """

    middle: str
    arm: str
    leg: str
    centre: str = "%"
    sided: str = "{S}%"
    extra: tuple[tuple[str, str], ...] = ()
    also: dict[str, str] = field(default_factory=dict)


def sides(text: str, side: str) -> str:
    return text.format(
        S=side.capitalize(), s=side, L=side[0].upper(), l=side[0], 左={"left": "左", "right": "右"}[side]
    )


@dataclass
class Figure:
    """A skeleton being built, and whose joints are whose."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    points: list[tuple[float, float, float]] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)

    def add(self, role: str, names: str, above: str, point, after=None) -> None:
        """Add the joints of a role; where there are none, what hangs at it hangs at what is above."""
        self.ends[role] = self.ends.get(above, -1)
        if names == "-":
            return
        self.roles[role] = names.split("+", maxsplit=1)[0]
        start = np.array(point)
        for place, name in enumerate(names.split("+")):
            share = place / len(names.split("+"))
            self.names.append(name)
            self.parents.append(self.ends[role])
            self.points.append(tuple(start if after is None else start + share * (np.array(after) - start)))
            self.ends[role] = len(self.names) - 1

    def skeleton(self) -> poise.Skeleton:
        return skeleton_of(self.names, self.parents, self.points)


def skeleton_of(names, parents, points, *, up="y", kinds=None) -> poise.Skeleton:
    """A skeleton of ball joints at world positions."""
    points = np.array(points, dtype=np.float64).reshape(-1, 3)
    offsets = [point - (points[parent] if parent >= 0 else 0.0) for point, parent in zip(points, parents, strict=True)]
    kinds = kinds if kinds is not None else [Kind.BALL] * len(names)
    return poise.Skeleton.build(names, parents, kinds, offsets=np.array(offsets).reshape(-1, 3), up=up)


def figure(convention: Convention) -> Figure:
    made = Figure()
    for (role, (above, point)), name in zip(_MIDDLE.items(), convention.middle.split(), strict=True):
        made.add(role, _wrapped(convention.centre, name), above, point)
    for side in SIDES:
        names = [*convention.arm.split(), *convention.leg.split()]
        mirror = np.array([1.0 if side == "left" else -1.0, 1.0, 1.0])
        places = list(_LIMBS.items())
        for (role, (above, point)), name, (_, (_, after)) in zip(places, names, [*places[1:], places[-1]], strict=True):
            hangs = above if above in _MIDDLE else f"{side}{above}"
            wrapped = sides(_wrapped(convention.sided, name), side)
            made.add(f"{side}{role}", wrapped, hangs, mirror * point, mirror * after)
    for name, above in convention.extra:
        for side in SIDES if "{" in name else ("",):
            row = made.ends[f"{side}{above}" if above in _LIMBS else above] if above else -1
            made.names.append(sides(name, side) if side else name)
            made.parents.append(row)
            x, y, z = made.points[row] if row >= 0 else (0.0, 0.0, 0.0)
            made.points.append((x, y - 0.01, z + 0.01))
    for role, name in convention.also.items():
        for side in SIDES:
            made.roles[f"{side}{role}"] = sides(name, side)
    return made


def _wrapped(pattern: str, names: str) -> str:
    return "-" if names == "-" else "+".join(pattern.replace("%", name) for name in names.split("+"))


_MIXAMO_ARM, _MIXAMO_LEG = "Shoulder Arm ForeArm Hand", "UpLeg Leg Foot ToeBase"
_FINGERS = (("{S}HandIndex1", "Hand"), ("{S}HandThumb1", "Hand"), ("{S}HandMiddle1", "Hand"))
_MIXAMO = "Hips Spine Spine1 Spine2 Neck Head"

CONVENTIONS = {
    "mixamo": Convention(
        _MIXAMO, _MIXAMO_ARM, _MIXAMO_LEG, "mixamorig:%", "mixamorig:{S}%",
        extra=(
            ("mixamorig:HeadTop_End", "head"), ("mixamorig:{S}Toe_End", "Toes"), ("mixamorig:{S}HandIndex1", "Hand"),
        ),
        also={"IndexProximal": "mixamorig:{S}HandIndex1"},
    ),
    "mixamo without prefix": Convention(_MIXAMO, _MIXAMO_ARM, _MIXAMO_LEG, extra=_FINGERS),
    "mixamo without colon": Convention(_MIXAMO, _MIXAMO_ARM, _MIXAMO_LEG, "mixamorig%", "mixamorig{S}%"),
    "mixamo numbered": Convention(_MIXAMO, _MIXAMO_ARM, _MIXAMO_LEG, "mixamorig12:%", "mixamorig12:{S}%"),
    "namespaces": Convention(_MIXAMO, _MIXAMO_ARM, _MIXAMO_LEG, "Armature|Bob:%", "Armature|Bob:{S}%"),
    "asf": Convention(
        "root lowerback upperback thorax lowerneck+upperneck head", "clavicle humerus radius wrist",
        "femur tibia foot toes", sided="{l}%", extra=(("{l}hand", "Hand"), ("{l}thumb", "Hand")),
        also={"ThumbMetacarpal": "{l}thumb"},
    ),
    "unreal": Convention(
        "pelvis spine_01 spine_02 spine_03 neck_01 head", "clavicle upperarm lowerarm hand", "thigh calf foot ball",
        sided="%_{l}",
        extra=(
            ("upperarm_twist_01_{l}", "UpperArm"), ("lowerarm_twist_01_{l}", "LowerArm"),
            ("calf_twist_01_{l}", "LowerLeg"), ("thigh_twist_01_{l}", "UpperLeg"),
            ("ik_foot_root", ""), ("ik_foot_{l}", ""), ("ik_hand_{l}", ""),
            ("upperarm_correctiveRoot_{l}", "UpperArm"), ("weapon_{l}", "Hand"),
        ),
    ),
    "human ik": Convention(
        _MIXAMO, _MIXAMO_ARM, _MIXAMO_LEG, "Character1_%", "Character1_{S}%",
        extra=(("Character1_{S}UpLegRoll", "UpperLeg"), ("Character1_{S}ForeArmRoll", "LowerArm")),
    ),
    "rokoko": Convention(
        "Hips Spine Spine2 Spine4 Neck Head", _MIXAMO_ARM, "Thigh Shin Foot Toe", extra=(("{S}InHandIndex", "Hand"),)
    ),
    "rigify": Convention(
        "spine spine.001 spine.002 spine.003 spine.004+spine.005 spine.006",
        "shoulder upper_arm+upper_arm forearm+forearm hand", "thigh+thigh shin+shin foot toe", "DEF-%", "DEF-%.{L}",
        extra=(("MCH-foot_ik.{L}", ""), ("ORG-foot.{L}", ""), ("DEF-breast.{L}", "chest"), ("DEF-palm.01.{L}", "Hand")),
    ),
    "blender metarig": Convention(
        "spine spine.001 spine.002 spine.003 spine.004 spine.006", "shoulder upper_arm forearm hand",
        "thigh shin foot toe", sided="%.{L}", extra=(("heel.02.{L}", "Foot"), ("pelvis.{L}", "hips")),
    ),
    "vrm": Convention(
        "hips spine chest upperChest neck head", "Shoulder UpperArm LowerArm Hand", "UpperLeg LowerLeg Foot Toes",
        sided="{s}%",
    ),
    "vroid": Convention(
        "Hips Spine Chest UpperChest Neck Head", "Shoulder UpperArm LowerArm Hand", "UpperLeg LowerLeg Foot ToeBase",
        "J_Bip_C_%", "J_Bip_{L}_%",
        extra=(("J_Adj_{L}_FaceEye", "head"), ("J_Sec_Hair1_01", "head"), ("J_Bip_{L}_Index1", "Hand")),
        also={"Eye": "J_Adj_{L}_FaceEye", "IndexProximal": "J_Bip_{L}_Index1"},
    ),
    "kaykit": Convention(
        "hips spine chest - - head", "- upperarm lowerarm wrist", "upperleg lowerleg foot toes", sided="%.{l}",
        extra=(
            ("hand.{l}", "Hand"), ("handslot.{l}", "Hand"), ("kneeIK.{l}", ""), ("control-foot-roll.{l}", ""),
            ("IK-foot.{l}", ""), ("handIK.{l}", ""), ("elbowIK.{l}", ""), ("heelIK.{l}", ""),
        ),
    ),
    "mikumikudance": Convention(
        "センター 上半身 上半身2 - 首 頭", "肩 腕 ひじ 手首", "足 ひざ 足首 つま先", sided="{左}%",
        extra=(
            ("{左}肩C", "Shoulder"), ("{左}腕捩", "UpperArm"), ("{左}手捩", "LowerArm"), ("{左}人指１", "Hand"),
            ("{左}足ＩＫ", ""), ("{左}足D", "hips"), ("{左}足先EX", "Foot"),
        ),
        also={"IndexProximal": "{左}人指１"},
    ),
    "makehuman": Convention(
        "root spine05+spine04 spine03+spine02 spine01 neck01+neck02+neck03 head",
        "clavicle+shoulder01 upperarm01+upperarm02 lowerarm01+lowerarm02 wrist",
        "pelvis+upperleg01+upperleg02 lowerleg01+lowerleg02 foot toe1-1", sided="%.{L}",
        extra=(("finger1-1.{L}", "Hand"), ("finger2-1.{L}", "Hand"), ("metacarpal1.{L}", "Hand"), ("jaw", "head")),
        also={"UpperLeg": "upperleg01.{L}", "ThumbMetacarpal": "finger1-1.{L}", "IndexProximal": "finger2-1.{L}"},
    ),
    "makehuman game engine": Convention(
        "pelvis spine_01 spine_02 spine_03 neck_01 head", "clavicle upperarm lowerarm hand", "thigh calf foot ball",
        sided="%_{l}", extra=(("Root", ""),),
    ),
    "biped": Convention(
        "Pelvis Spine Spine1 Spine2 Neck Head", "Clavicle UpperArm Forearm Hand", "Thigh Calf Foot Toe0",
        "Bip01 %", "Bip01 {L} %",
        extra=(
            ("Bip01 HeadNub", "head"), ("Bip01 {L} Finger0", "Hand"), ("Bip01 {L} Finger1", "Hand"),
            ("Bip01 {L}UpArmTwist", "UpperArm"), ("Bip01 {L} ForeTwist", "LowerArm"), ("Bip01 Footsteps", ""),
        ),
        also={"ThumbMetacarpal": "Bip01 {L} Finger0", "IndexProximal": "Bip01 {L} Finger1"},
    ),
    "valve": Convention(
        "Pelvis Spine Spine1 Spine2 Neck1 Head1", "Clavicle UpperArm Forearm Hand", "Thigh Calf Foot Toe0",
        "ValveBiped.Bip01_%", "ValveBiped.Bip01_{L}_%",
    ),
    "blender capitals": Convention(
        "Hips Spine Chest UpperChest Neck Head", "Shoulder UpperArm LowerArm Hand", "UpperLeg LowerLeg Foot Toes",
        sided="%.{L}", extra=(("FootIK.{L}", ""), ("PoleTargetKnee{L}", ""), ("Hand.{L}_end", "Hand")),
    ),
    "blender small": Convention(
        "hips spine chest - neck head", "shoulder upper_arm forearm hand", "thigh shin foot toe", sided="%_{l}",
        extra=(("foot_ik_{l}", ""), ("pole_knee_{l}", "")),
    ),
    "smpl": Convention(
        "pelvis spine1 spine2 spine3 neck head", "collar shoulder elbow wrist", "hip knee ankle foot", sided="{s}_%",
        extra=(("{s}_hand", "Hand"), ("{s}_index1", "Hand"), ("jaw", "head"), ("{s}_eye_smplhf", "head")),
        also={"IndexProximal": "{s}_index1", "Eye": "{s}_eye_smplhf"},
    ),
    "smpl short": Convention(
        "Pelvis Spine1 Spine2 Spine3 Neck Head", "Collar Shoulder Elbow Wrist", "Hip Knee Ankle Foot", sided="{L}_%",
        extra=(("{L}_Hand", "Hand"),),
    ),
    "xsens": Convention("Hips Chest Chest2 Chest4 Neck Head", "Collar Shoulder Elbow Wrist", "Hip Knee Ankle Toe"),
    "xsens mvnx": Convention(
        "Pelvis L5 T12 T8 Neck Head", "Shoulder UpperArm ForeArm Hand", "UpperLeg LowerLeg Foot Toe"
    ),
    "optitrack": Convention(
        "Hip Ab Chest - Neck Head", "Shoulder UArm FArm Hand", "Thigh Shin Foot Toe", "Skeleton_%", "Skeleton_{L}%"
    ),
    "godot": Convention(
        "Hips Spine Chest UpperChest Neck Head", "Shoulder UpperArm LowerArm Hand", "UpperLeg LowerLeg Foot Toes",
        extra=(("{S}ThumbMetacarpal", "Hand"), ("{S}IndexProximal", "Hand"), ("{S}Eye", "head"), ("Jaw", "head")),
        also={"ThumbMetacarpal": "{S}ThumbMetacarpal", "IndexProximal": "{S}IndexProximal", "Eye": "{S}Eye"},
    ),
    "quaternius": Convention(
        "Hips Abdomen Torso - Neck Head", "Shoulder UpperArm LowerArm Palm1", "UpperLeg LowerLeg Foot -", sided="%.{L}",
        extra=(("PoleTarget.{L}", ""), ("Index1.{L}", "Hand")), also={"IndexProximal": "Index1.{L}"},
    ),
    "numbered limbs": Convention(
        "torso_joint_1 torso_joint_2 torso_joint_3 - neck_joint_1 neck_joint_2",
        "- arm_joint_{L}_1 arm_joint_{L}_2 arm_joint_{L}_3",
        "leg_joint_{L}_1 leg_joint_{L}_2 leg_joint_{L}_3 leg_joint_{L}_5", sided="%",
    ),
    "daz": Convention(
        "hip abdomenLower+abdomenUpper chestLower chestUpper neckLower+neckUpper head",
        "Collar ShldrBend+ShldrTwist ForearmBend+ForearmTwist Hand", "ThighBend+ThighTwist Shin Foot Metatarsals+Toe",
        sided="{l}%", extra=(("pelvis", "hips"), ("{l}Thumb1", "Hand"), ("{l}Eye", "head"), ("{l}Ear", "head")),
        also={"Toes": "{l}Toe", "ThumbMetacarpal": "{l}Thumb1", "Eye": "{l}Eye"},
    ),
    "reallusion": Convention(
        "Hip Waist Spine01 Spine02 NeckTwist01+NeckTwist02 Head", "Clavicle Upperarm Forearm Hand",
        "Thigh Calf Foot ToeBase", "CC_Base_%", "CC_Base_{L}_%",
        extra=(
            ("CC_Base_{L}_ThighTwist01", "UpperLeg"), ("CC_Base_{L}_ForearmTwist01", "LowerArm"),
            ("CC_Base_Pelvis", "hips"),
        ),
    ),
    "synty": Convention(
        "Hips Spine_01 Spine_02 Spine_03 Neck Head", "Clavicle Shoulder Elbow Hand", "UpperLeg LowerLeg Ankle Ball",
        sided="%_{L}", extra=(("Toes_{L}", "Toes"),),
    ),
    "auto-rig pro": Convention(
        "root.x spine_01.x spine_02.x spine_03.x neck.x head.x", "shoulder arm_stretch forearm_stretch hand",
        "thigh_stretch leg_stretch foot toes_01", sided="%.{l}",
        extra=(("arm_twist.{l}", "UpperArm"), ("leg_twist.{l}", "LowerLeg"), ("thigh_twist.{l}", "UpperLeg")),
    ),
    "advanced skeleton": Convention(
        "Root_M Spine1_M Spine2_M Chest_M Neck_M Head_M", "Scapula Shoulder Elbow Wrist", "Hip Knee Ankle Toes",
        sided="%_{L}", extra=(("ShoulderPart1_{L}", "UpperArm"), ("Eye_{L}", "head"), ("Jaw_M", "head")),
        also={"Eye": "Eye_{L}"},
    ),
    "second life": Convention(
        "mPelvis mTorso mChest - mNeck mHead", "mCollar mShoulder mElbow mWrist", "mHip mKnee mAnkle mFoot",
        sided="%{S}", extra=(("mToe{S}", "Toes"),), also={"Toes": "mToe{S}"},
    ),
    "roblox": Convention(
        "LowerTorso UpperTorso - - - Head", "- UpperArm LowerArm Hand", "UpperLeg LowerLeg Foot -",
        extra=(("HumanoidRootPart", ""),),
    ),
    "kinect": Convention(
        "HipCenter Spine ShoulderCenter - - Head", "- Shoulder Elbow Wrist", "Hip Knee Ankle Foot",
        sided="%{S}",
    ),
    "leg and knee": Convention(
        "Hips Spine Chest - Neck Head", "shoulder arm elbow wrist", "leg knee ankle toe", sided="{S} %"
    ),
    "side last": Convention(
        "hips spine chest - neck head", "shoulder upperarm forearm hand", "thigh calf foot toe",
        sided="%_{s}",
    ),
    "small letters": Convention(
        "hips spine chest - neck head", "shoulder arm forearm hand", "upleg leg foot toe",
        sided="{s}%",
    ),
    "capitals": Convention(
        "HIPS SPINE CHEST - NECK HEAD", "CLAVICLE UPPERARM LOWERARM HAND", "THIGH CALF FOOT TOE",
        sided="{L}_%",
    ),
}  # fmt: skip

"""Whose joints are whose, for every rig of the data: written down by hand from each file's tree.

A line has hips, spine and head; then the pattern of the sided names; upper arm, lower arm, hand; upper leg, lower leg,
foot, toes. {S} stands for Left or Right, {s} for left or right, {L} for L or R, {l} for l or r, "-" for a joint that
is not there.

Where a name is not the truth:
walk_makehuman_zup   "Hips" carries only the legs; "Root", at the same place, carries legs and spine.
robot_quaternius     "Hips" carries only the spine; "Body" carries both. The feet hang at the root, for IK: they are
                     no joints of the legs (Roles.apart). The hand is the palm's bone that carries the middle finger.
knight_kaykit        the hand turns at "wrist"; "hand" is the bone after it, in the palm.
CMU                  LowerBack, Spine, Spine1 are the three bones of the spine, in this order.
g1, simple_humanoid  a hip is three hinges, and an upper leg is the last one that stands at the hip. One of them has
                     no head.
"""

from __future__ import annotations

from poise.model.roles.bone_names import SIDES

_SAMPLE = "Hips Spine Head | {S}Arm {S}ForeArm {S}Hand | {S}UpLeg {S}Leg {S}Foot {S}Toe"
_CMU = "Hips LowerBack Head | {S}Arm {S}ForeArm {S}Hand | {S}UpLeg {S}Leg {S}Foot {S}ToeBase"
_HUMAN_IK = (
    "Character1_Hips Character1_Spine Character1_Head"
    " | Character1_{S}Arm Character1_{S}ForeArm Character1_{S}Hand"
    " | Character1_{S}UpLeg Character1_{S}Leg Character1_{S}Foot Character1_{S}ToeBase"
)
_UNREAL = "pelvis spine_01 head | upperarm_{l} lowerarm_{l} hand_{l} | thigh_{l} calf_{l} foot_{l} ball_{l}"

HUMANOIDS = {
    "bvh/bvhio_example.bvh": "Hips Chest Head | {S}UpArm {S}LowArm {S}Hand | {S}UpLeg {S}LowLeg {S}Foot -",
    "bvh/cmu_01_03_climb_ladder.bvh": _CMU,
    "bvh/cmu_12_01_walk.bvh": _CMU,
    "bvh/jesse_dance_rokoko.bvh": "Hips Spine Head | {S}Arm {S}ForeArm {S}Hand | {S}UpLeg {S}Leg {S}Foot {S}ToeBase",
    "bvh/jumping_jacks_cmu1.bvh": (
        "Hips lowerback Head | {S}Shoulder {S}Elbow {S}Wrist | {S}Hip {S}Knee {S}Ankle {S}Toe"
    ),
    "bvh/mocapbank.bvh": "Hips Chest Head | {S}Shoulder {S}Elbow {S}Wrist | {S}Hip {S}Knee {S}Ankle -",
    "bvh/run_mass.bvh": _HUMAN_IK,
    "bvh/walk_mass.bvh": _HUMAN_IK,
    "bvh/walk_makehuman_zup.bvh": (
        "Root Spine1 Head | UpArm_{L} LoArm_{L} Hand_{L} | UpLeg_{L} LoLeg_{L} Foot_{L} Toe_{L}"
    ),
    "glb/cesium_man.gltf": None,
    "glb/cryptovoxels.vrm": "Hips Spine Head | {S}~arm {S}~elbow {S}~wrist | {S}~leg {S}~knee {S}~ankle {S}~toe",
    "glb/human_anim_m2m.glb": _UNREAL,
    "glb/human_female_m2m.glb": _UNREAL,
    "glb/knight_kaykit.glb": (
        "hips spine head | upperarm.{l} lowerarm.{l} wrist.{l} | upperleg.{l} lowerleg.{l} foot.{l} toes.{l}"
    ),
    "glb/mannequiny_gdquest.glb": (
        "pelvis spine_01 head | upperarm.{l} lowerarm.{l} hand.{l} | thigh.{l} calf.{l} foot.{l} ball.{l}"
    ),
    "glb/mixamo_human_makehuman.glb": (
        "mixamorig:Hips mixamorig:Spine mixamorig:Head"
        " | mixamorig:{S}Arm mixamorig:{S}ForeArm mixamorig:{S}Hand"
        " | mixamorig:{S}UpLeg mixamorig:{S}Leg mixamorig:{S}Foot mixamorig:{S}ToeBase"
    ),
    "glb/robot_quaternius.glb": (
        "Body Abdomen Head_1 | UpperArm.{L} LowerArm.{L} Palm2.{L} | UpperLeg.{L} LowerLeg.{L}_1 - -"
    ),
    "urdf/g1_29dof.urdf": (
        "pelvis waist_pitch_joint head_joint"
        " | {s}_shoulder_roll_joint {s}_elbow_joint {s}_wrist_yaw_joint"
        " | {s}_hip_roll_joint {s}_knee_joint {s}_ankle_roll_joint -"
    ),
    "urdf/simple_humanoid/urdf/simple_humanoid.urdf": (
        "waist WAIST_R - | {L}ARM_SHOULDER_R {L}ARM_ELBOW {L}ARM_WRIST_R | {L}LEG_HIP_P {L}LEG_KNEE {L}LEG_ANKLE_R -"
    ),
    "samples/humanoid.glb": _SAMPLE,
    "samples/humanoid.bvh": _SAMPLE,
}

# Its joints have no names: left is the side of negative z, because the feet point along +x and y is up.
CESIUM_MAN = {
    "hips": "node_2", "spine": "node_11", "head": "node_20",
    "leftUpperArm": "node_16", "leftLowerArm": "node_17", "leftHand": "node_18",
    "rightUpperArm": "node_13", "rightLowerArm": "node_14", "rightHand": "node_15",
    "leftUpperLeg": "node_7", "leftLowerLeg": "node_8", "leftFoot": "node_9", "leftToes": "node_10",
    "rightUpperLeg": "node_3", "rightLowerLeg": "node_4", "rightFoot": "node_5", "rightToes": "node_6",
}  # fmt: skip

# upper, lower, foot, toes of each leg
QUADRUPEDS = {
    "glb/fox.glb": {
        "front left": ("b_LeftUpperArm_09", "b_LeftForeArm_010", "b_LeftHand_011", None),
        "front right": ("b_RightUpperArm_06", "b_RightForeArm_07", "b_RightHand_08", None),
        "hind left": ("b_LeftLeg01_015", "b_LeftLeg02_016", "b_LeftFoot01_017", "b_LeftFoot02_018"),
        "hind right": ("b_RightLeg01_019", "b_RightLeg02_020", "b_RightFoot01_021", "b_RightFoot02_022"),
    },
    "glb/fox_anims_m2m.glb": {
        "front left": ("Front_Leg_Upper_L", "Front_Leg_Lower_L", "Front_Leg_Ankle_L", "Front_Leg_Foot_L"),
        "front right": ("Front_Leg_Upper_R", "Front_Leg_Lower_R", "Front_Leg_Ankle_R", "Front_Leg_Foot_R"),
        "hind left": ("Back_Leg_Upper_L", "Back_Leg_Lower_L", "Back_Leg_Ankle_L", "Back_Leg_Foot_L"),
        "hind right": ("Back_Leg_Upper_R", "Back_Leg_Lower_R", "Back_Leg_Ankle_R", "Back_Leg_Foot_R"),
    },
    "urdf/solo12.urdf": {
        "front left": ("FL_HFE", "FL_KFE", "FL_ANKLE", None),
        "front right": ("FR_HFE", "FR_KFE", "FR_ANKLE", None),
        "hind left": ("HL_HFE", "HL_KFE", "HL_ANKLE", None),
        "hind right": ("HR_HFE", "HR_KFE", "HR_ANKLE", None),
    },
}

NO_FIGURES = (
    "glb/hand_left_webxr.glb", "glb/rigged_simple.gltf", "glb/simple_skin.gltf",
    "urdf/finger_edu/robots/finger_edu.urdf", "urdf/panda.urdf", "urdf/ur5.urdf", "samples/arm.urdf",
)  # fmt: skip

_LIMBS = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot", "Toes")


def truth(line: str) -> dict[str, str]:
    """Role -> joint of one line of the table."""
    middle, arm, leg = (part.split() for part in line.split("|"))
    roles = dict(zip(("hips", "spine", "head"), middle, strict=True))
    for side in SIDES:
        letters = {"S": side.capitalize(), "s": side, "L": side[0].upper(), "l": side[0]}
        names = [pattern.format(**letters).replace("~", " ") for pattern in arm + leg]
        roles |= {f"{side}{role}": name for role, name in zip(_LIMBS, names, strict=True)}
    return {role: name for role, name in roles.items() if name != "-"}

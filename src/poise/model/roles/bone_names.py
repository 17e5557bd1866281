"""Names of bones: VRM roles, naming conventions and name tokens.

A name is split at punctuation, digits and capitals ("mixamorig:LeftUpLeg" -> left, up, leg). An unknown token is split
further if only known tokens result ("RLEG" -> r, leg; "lefthand" -> left, hand).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# Words for each part, of all conventions. The meaning of "leg", "arm", "shoulder", "hip", "hand" and "foot" depends on
# their neighbours in the chain: see roles_by_name.py. Words such as "kny" and "hpx" are joints of Atlas.
_PART_WORDS = {
    "hips": "hips hip pelvis hpx hpy hpz", "waist": "waist",
    "spine": "spine spines abdomen torso chest back thorax ribs ribcage belly lumbar stomach ab bkx bky bkz",
    "neck": "neck", "head": "head skull",
    "eye": "eye eyes eyeball", "jaw": "jaw chin mandible",
    "thigh": "thigh femur upleg", "leg": "leg", "shin": "shin shank calf knee tibia crus kny",
    "ankle": "ankle ank akx aky", "foot": "foot feet talus", "toe": "toe toes toebase ball",
    "clavicle": "clavicle collar clav scapula", "shoulder": "shoulder sho shx shy shz usy",
    "upperarm": "upperarm humerus shldr", "arm": "arm", "forearm": "forearm elbow radius ulna elx ely elb",
    "wrist": "wrist wri uwy mwx lwy wrx wry", "hand": "hand", "palm": "palm", "finger": "finger fingers",
    "thumb": "thumb", "index": "index pointer", "middle": "middle mid", "ring": "ring", "little": "little pinky pinkie",
}  # fmt: skip
FINGERS = ("thumb", "index", "middle", "ring", "little")
_PART_OF_WORD = {word: part for part, words in _PART_WORDS.items() for word in words.split()}
_PART_OF_PAIR = {
    ("upper", "leg"): "thigh", ("up", "leg"): "thigh", ("u", "leg"): "thigh", ("leg", "upper"): "thigh",
    ("lower", "leg"): "shin", ("low", "leg"): "shin", ("lo", "leg"): "shin", ("leg", "lower"): "shin",
    ("upper", "arm"): "upperarm", ("up", "arm"): "upperarm", ("u", "arm"): "upperarm", ("arm", "upper"): "upperarm",
    ("lower", "arm"): "forearm", ("low", "arm"): "forearm", ("lo", "arm"): "forearm", ("arm", "lower"): "forearm",
    ("fore", "arm"): "forearm", ("f", "arm"): "forearm", ("collar", "bone"): "clavicle",
    ("hip", "joint"): "hipjoint",
}  # fmt: skip
_SIDE_OF_WORD = {
    "left": "left", "l": "left", "lft": "left", "fl": "left", "hl": "left", "rl": "left", "lh": "left",
    "right": "right", "r": "right", "rgt": "right", "rt": "right", "fr": "right", "hr": "right", "rr": "right",
    "rh": "right",
}  # fmt: skip
_HELPER_WORDS = (
    "ik fk ctrl control controller pole target twist helper mch tweak end leaf tip nub site effector null locator "
    "mesh rigmesh geo geometry slot weapon sword shield gun prop socket attach attachment corrective muscle jiggle "
    "skirt hair breast cloth cape ear ears tail tongue teeth brow lid lash lip cheek nose gizmo dummy marker imu "
    "camera sensor fsr bumper tactile hokuyo lidar laser velodyne kinect realsense multisense optical led gps "
    "touch logo contour spring phys collider collision aim heel nail accessory"
)
_NOISE_WORDS = (
    "joint jnt bone link def org rig armature skeleton mixamorig character bip bend base prox proximal intermediate "
    "distal metacarpal phalanx front hind rear back fore start first second third upper lower up low lo center adj sec "
    "finger side valve biped face root main body motor pitch roll yaw"
)
_OTHER_LIMB_WORDS = (  # chains like limbs, but neither arms nor legs: no creature stands on them
    "fin fins flipper flippers fluke flukes pectoral dorsal caudal anal ventral wing wings feather tentacle antenna "
    "antennae feeler mandible pincer pincers claw claws chela chelicera pedipalp palp wheel rotor propeller"
)
_HELPER_TOKENS, _NOISE_TOKENS, _OTHER_LIMB_TOKENS = (
    frozenset(words.split()) for words in (_HELPER_WORDS, _NOISE_WORDS, _OTHER_LIMB_WORDS)
)
# MikuMikuDance. Its control bones end in a letter or EX (左足D, 左肩P) and are helpers, as are twist bones (捩)
_JAPANESE_WORDS = {
    "左": "left", "右": "right", "センター": "center", "全ての親": "root", "下半身": "hips", "上半身": "spine",
    "首": "neck", "頭": "head", "目": "eye", "肩": "clavicle", "腕": "upperarm", "ひじ": "elbow", "手首": "wrist",
    "足": "leg", "ひざ": "knee", "足首": "ankle", "つま先": "toe", "親指": "thumb", "人指": "index", "人差指": "index",
    "中指": "middle", "薬指": "ring", "小指": "little",
}  # fmt: skip
_JAPANESE_PATTERN = re.compile(
    "|".join([r"(?<=[^\x00-\x7f])(?:[CDPS]|EX)$", "捩", *sorted(_JAPANESE_WORDS, key=len, reverse=True)])
)
# fewest letters of a word to split: "lhip"
_MIN_SPLIT_LETTERS = 4
# most letters of a word to split: the time grows with the square, and no joint word is longer
_MAX_SPLIT_LETTERS = 64
_METACARPALS = frozenset({"metacarpal", "metacarpals", "carpal"})
_TOKEN_PATTERN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# a hinge about, or a slide along, an axis
_HINGE_PATTERN = re.compile(r"([a-z]{3,})[rt][xyz]")
_KNOWN_WORDS = (
    frozenset(_PART_OF_WORD) | _NOISE_TOKENS | _HELPER_TOKENS | _OTHER_LIMB_TOKENS | {"left", "right", "toe", "in"}
)
# OptiTrack's LUArm, RFArm
_SPLIT_TOKENS = {"lu": ("l", "u"), "ru": ("r", "u"), "lf": ("l", "f"), "rf": ("r", "f")}


# words before "ball_joint" in names of a robot's rods, as in "waist_motor_a_ball_joint"
_ROD_WORDS = ("a", "b", "motor", "rod")


class NameTokens(NamedTuple):
    """Tokens of one joint name.

    side           "left", "right" or ""
    part           part of the body, or "" for a name without one
    numbers        the numbers after that part
    unknown_words  unknown tokens; a name with such tokens is a loose match
    is_helper      a joint for control, twist, display or the end of a chain: never a role
    is_metacarpal  a bone within the palm
    is_deform      Rigify's DEF-: of several joints with one name the one that deforms the mesh
    is_other_limb  a joint of a fin, a wing, a feeler or a wheel: never a role of an arm or a leg
    """

    side: str
    part: str
    numbers: tuple[int, ...]
    unknown_words: tuple[str, ...]
    is_helper: bool
    is_metacarpal: bool
    is_deform: bool
    is_other_limb: bool


@lru_cache(maxsize=4096)
def parse_joint_name(name: str, *, roll_is_axis: bool = False, rl_is_right: bool = False) -> NameTokens:
    """Parse the tokens of a joint name.

    roll_is_axis  the rig names its hinges pitch, roll and yaw; else a roll is a twist bone
    rl_is_right   RL is the right leg, besides LL; else it is the rear left one
    """
    words = _drop_ball_joint(tokenize_name(name))
    numbers: list[int] = []
    part = side = ""
    unknown_words: list[str] = []
    is_helper = name.startswith("__") or ("roll" in words and not roll_is_axis)
    for word, next_word in zip(words, [*words, ""][1:], strict=True):
        if word.isdecimal():
            numbers.append(int(word[-6:]))
        elif (word, next_word) in _PART_OF_PAIR:
            part, numbers = _PART_OF_PAIR[word, next_word], []
        elif word in _PART_OF_WORD:
            part, numbers = _merge_part(part, _PART_OF_WORD[word]), []
        elif word in _SIDE_OF_WORD:
            side = side or ("right" if word == "rl" and rl_is_right else _SIDE_OF_WORD[word])
        elif word == "ll" and rl_is_right:
            side = side or "left"
        elif word in _HELPER_TOKENS:
            is_helper = True
        elif len(word) > 1 and word not in _NOISE_TOKENS:
            unknown_words.append(word)
    is_helper |= bool(part) and words[-1] == "ft"  # a force-torque sensor
    is_metacarpal = bool(_METACARPALS.intersection(words)) or ("in", "hand") in pairwise(words)
    is_other_limb = not _OTHER_LIMB_TOKENS.isdisjoint(words)
    return NameTokens(
        side, part, tuple(numbers), tuple(unknown_words), is_helper, is_metacarpal, words[:1] == ("def",), is_other_limb
    )


def _drop_ball_joint(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the word "ball" from names of rods. There it is a kind of joint."""
    return tuple(
        word
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False)
        if not (word == "ball" and after == "joint" and before in _ROD_WORDS)
    )


def _merge_part(previous_part: str, part: str) -> str:
    """Merge the part of one more word. The last one counts ("LeftHandIndex"), but a pair that it ends stays."""
    absorbed_parts = {"thigh": ("leg",), "shin": ("leg",), "upperarm": ("arm",), "forearm": ("arm",)}
    if part in absorbed_parts.get(previous_part, ()) or (
        part == "finger" and previous_part in FINGERS
    ):  # "IndexFinger1"
        return previous_part
    return part


def tokenize_name(name: str) -> tuple[str, ...]:
    """Split a name into lower-case tokens, without namespaces ("Armature|mixamorig:Hips")."""
    if not name.isascii():
        name = translate_name(name)
    bare_name = re.split(r"[:|/]", name)[-1].replace("IK", " IK ")
    words: list[str] = []
    for token in _TOKEN_PATTERN.findall(bare_name):
        words += _split_token(token.lower())
    return tuple(words)


def translate_name(name: str) -> str:
    """Translate a Japanese name of MikuMikuDance ("左足首" -> " left  ankle "). Other letters stay."""
    plain = unicodedata.normalize("NFKC", name)  # letters and digits of full width
    return _JAPANESE_PATTERN.sub(lambda match: f" {_JAPANESE_WORDS.get(match[0], 'helper')} ", plain)


@lru_cache(maxsize=4096)
def _split_token(token: str) -> tuple[str, ...]:
    """Split an unknown token into known ones."""
    if token in _SPLIT_TOKENS:
        return _SPLIT_TOKENS[token]
    if token in _KNOWN_WORDS or token in _SIDE_OF_WORD or not _MIN_SPLIT_LETTERS <= len(token) <= _MAX_SPLIT_LETTERS:
        return (token,)
    covering_tokens = _cover_token(token)
    if covering_tokens:
        return covering_tokens
    if token[0] in "lr":  # a side letter only at the start, and only if nothing else explains the word
        remaining_tokens = (token[1:],) if token[1:] in _KNOWN_WORDS else _cover_token(token[1:])
        if remaining_tokens:
            return (token[0], *remaining_tokens)
    hinge_match = _HINGE_PATTERN.fullmatch(token)
    if hinge_match:  # one of several hinges of a joint: "lfemurrz"
        remaining_tokens = _split_token(hinge_match[1])
        return remaining_tokens if remaining_tokens != (hinge_match[1],) or hinge_match[1] in _KNOWN_WORDS else (token,)
    return (token,)


def _cover_token(token: str) -> tuple[str, ...]:
    """Cover a token with known ones, the longest first. The result is empty where that leaves a gap."""
    if not token:
        return ()
    for length in range(len(token), 1, -1):
        if token[:length] in _KNOWN_WORDS:
            remaining_tokens = _cover_token(token[length:])
            if length == len(token) or remaining_tokens:
                return (token[:length], *remaining_tokens)
    return ()


# --- Known naming conventions ----------------------------------------------------------------------------------------
#
# They raise the confidence in names.


# One pattern per convention, for names unique to it; the first pattern with enough matches is the rig's.
_NAME_PATTERNS = {
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
    "MikuMikuDance": r"(左|右)(ひじ|ひざ|足首)$",
}
_MIN_MATCH_COUNT = 2
_MAX_CONVENTIONS = 64  # skeletons whose convention is kept
_COMPILED_PATTERNS = {name: re.compile(sign) for name, sign in _NAME_PATTERNS.items()}


@lru_cache(maxsize=_MAX_CONVENTIONS)
def find_convention(names: tuple[str, ...]) -> str:
    """Find the naming convention of joint names, or ""."""
    for convention, pattern in _COMPILED_PATTERNS.items():
        if sum(pattern.match(name) is not None for name in names) >= _MIN_MATCH_COUNT:
            return convention
    return ""


# --- Bone names of VRM 1.0, used as roles ----------------------------------------------------------------------------


SIDES = ("left", "right")
FINGER_BONES = tuple(
    f"{finger}{segment}"
    for finger in ("Thumb", "Index", "Middle", "Ring", "Little")
    for segment in (
        ("Metacarpal", "Proximal", "Distal") if finger == "Thumb" else ("Proximal", "Intermediate", "Distal")
    )
)
_CENTRAL_BONES = ("hips", "spine", "chest", "upperChest", "neck", "head", "jaw")
_LIMB_BONES = ("UpperArm", "LowerArm", "Hand", "UpperLeg", "LowerLeg", "Foot")
_PAIRED_BONES = ("Eye", "Shoulder", *_LIMB_BONES, "Toes", *FINGER_BONES)

REQUIRED_BONES = ("hips", "spine", "head", *(f"{side}{bone}" for side in SIDES for bone in _LIMB_BONES))
"""The 15 bones of every VRM 1.0 humanoid."""

BONES = (*_CENTRAL_BONES, *(f"{side}{bone}" for side in SIDES for bone in _PAIRED_BONES))
"""All 55 bones."""

"""Names of bones: VRM roles, naming conventions and name tokens.

A name is cut into words at punctuation, digits and capitals ("mixamorig:LeftUpLeg" -> left, up, leg); a word
that is unknown is cut further where that leaves known words only ("RLEG" -> r, leg; "lefthand" -> left, hand).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# The words for a part, of all conventions together. What "leg", "arm", "shoulder", "hip", "hand" and "foot" mean
# depends on their neighbours in the chain: limbs.py decides. Words such as "kny" and "hpx" are joints of Atlas.
_PARTS = {
    "hips": "hips hip pelvis hpx hpy hpz", "waist": "waist",
    "spine": "spine spines abdomen torso chest back thorax ribs ribcage belly lumbar stomach ab bkx bky bkz",
    "neck": "neck", "head": "head skull",
    "eye": "eye eyes eyeball", "jaw": "jaw chin mandible",
    "thigh": "thigh femur upleg", "leg": "leg", "shin": "shin calf knee tibia crus kny",
    "ankle": "ankle ank akx aky", "foot": "foot feet talus", "toe": "toe toes toebase ball",
    "clavicle": "clavicle collar clav scapula", "shoulder": "shoulder sho shx shy shz usy",
    "upperarm": "upperarm humerus shldr", "arm": "arm", "forearm": "forearm elbow radius ulna elx ely elb",
    "wrist": "wrist wri uwy mwx lwy", "hand": "hand", "palm": "palm", "finger": "finger fingers",
    "thumb": "thumb", "index": "index pointer", "middle": "middle mid", "ring": "ring", "little": "little pinky pinkie",
}  # fmt: skip
FINGERS = ("thumb", "index", "middle", "ring", "little")
_PART = {word: part for part, words in _PARTS.items() for word in words.split()}
_PAIRS = {
    ("upper", "leg"): "thigh", ("up", "leg"): "thigh", ("u", "leg"): "thigh", ("leg", "upper"): "thigh",
    ("lower", "leg"): "shin", ("low", "leg"): "shin", ("lo", "leg"): "shin", ("leg", "lower"): "shin",
    ("upper", "arm"): "upperarm", ("up", "arm"): "upperarm", ("u", "arm"): "upperarm", ("arm", "upper"): "upperarm",
    ("lower", "arm"): "forearm", ("low", "arm"): "forearm", ("lo", "arm"): "forearm", ("arm", "lower"): "forearm",
    ("fore", "arm"): "forearm", ("f", "arm"): "forearm", ("collar", "bone"): "clavicle",
    ("hip", "joint"): "hipjoint",
}  # fmt: skip
_SIDES = {
    "left": "left", "l": "left", "lft": "left", "fl": "left", "hl": "left", "rl": "left", "lh": "left",
    "right": "right", "r": "right", "rgt": "right", "rt": "right", "fr": "right", "hr": "right", "rr": "right",
    "rh": "right",
}  # fmt: skip
_HELPER_WORDS = (
    "ik fk ctrl control controller pole target twist helper mch tweak end leaf tip nub site effector null locator "
    "mesh rigmesh geo geometry slot weapon sword shield gun prop socket attach attachment corrective muscle jiggle "
    "skirt hair breast cloth cape ear ears tail tongue teeth brow lid lash lip cheek nose gizmo dummy marker imu "
    "camera sensor hokuyo lidar laser velodyne kinect realsense multisense optical led gps "
    "touch logo contour spring phys collider collision aim heel nail accessory"
)
_NOISE_WORDS = (
    "joint jnt bone link def org rig armature skeleton mixamorig character bip bend base prox proximal intermediate "
    "distal metacarpal phalanx front hind rear back fore start first second third upper lower up low lo center adj sec "
    "finger side valve biped face root main body motor pitch roll yaw"
)
_OTHER_LIMB_WORDS = (  # what leads on like a limb and is no arm or leg: no creature stands on these
    "fin fins flipper flippers fluke flukes pectoral dorsal caudal anal ventral wing wings feather tentacle antenna "
    "antennae feeler mandible pincer pincers claw claws chela chelicera pedipalp palp wheel rotor propeller"
)
_HELPERS, _NOISE, _OTHER_LIMBS = (
    frozenset(words.split()) for words in (_HELPER_WORDS, _NOISE_WORDS, _OTHER_LIMB_WORDS)
)
_SHORTEST = 4  # letters of a word that is worth cutting: "lhip"
_LONGEST = 64  # letters of one: to cut takes time with their square, and no word for a joint is as long
_METACARPALS = frozenset({"metacarpal", "metacarpals", "carpal"})
_CUT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_HINGE = re.compile(r"([a-z]{3,})[rt][xyz]")  # about, or along, an axis
_KNOWN = frozenset(_PART) | _NOISE | _HELPERS | _OTHER_LIMBS | {"left", "right", "toe", "in"}
_SPLIT = {"lu": ("l", "u"), "ru": ("r", "u"), "lf": ("l", "f"), "rf": ("r", "f")}  # OptiTrack's LUArm, RFArm


class Word(NamedTuple):
    """Tokens of one joint name.

    side        "left", "right" or ""
    part        a key of the table of parts, or "" where no word of the body is in the name
    numbers     the numbers after that word
    unknown     words that mean nothing here; a name with such words is a loose match
    helper      a joint for control, twist, display or the end of a chain: never a role
    metacarpal  the bone within the palm
    deform      Rigify's DEF-: the joint that moves the mesh, of several with the same name
    other       a joint of a fin, a wing, a feeler or a wheel: never a role of an arm or a leg
    """

    side: str
    part: str
    numbers: tuple[int, ...]
    unknown: tuple[str, ...]
    helper: bool
    metacarpal: bool
    deform: bool
    other: bool


@lru_cache(maxsize=4096)
def read(name: str, *, roll_is_axis: bool = False, rl_is_right: bool = False) -> Word:
    """Parse the tokens of a joint name.

    roll_is_axis  where the rig names its hinges pitch, roll and yaw: else a roll is a twist bone
    rl_is_right   where RL is the right leg, beside LL: else it is the rear left one
    """
    words = cut(name)
    numbers: list[int] = []
    part = side = ""
    unknown: list[str] = []
    helper = name.startswith("__") or ("roll" in words and not roll_is_axis)
    for word, after in zip(words, [*words, ""][1:], strict=True):
        if word.isdecimal():
            numbers.append(int(word[-6:]))
        elif (word, after) in _PAIRS:
            part, numbers = _PAIRS[word, after], []
        elif word in _PART:
            part, numbers = _merged(part, _PART[word]), []
        elif word in _SIDES:
            side = side or ("right" if word == "rl" and rl_is_right else _SIDES[word])
        elif word == "ll" and rl_is_right:
            side = side or "left"
        elif word in _HELPERS:
            helper = True
        elif len(word) > 1 and word not in _NOISE:
            unknown.append(word)
    helper |= bool(part) and words[-1] == "ft"  # a sensor of force and torque
    metacarpal = bool(_METACARPALS.intersection(words)) or ("in", "hand") in pairwise(words)
    other = not _OTHER_LIMBS.isdisjoint(words)
    return Word(side, part, tuple(numbers), tuple(unknown), helper, metacarpal, words[:1] == ("def",), other)


def _merged(before: str, part: str) -> str:
    """Merge the part of one more token. The last one counts ("LeftHandIndex"), but a pair that it ends stays."""
    pairs = {"thigh": ("leg",), "shin": ("leg",), "upperarm": ("arm",), "forearm": ("arm",)}
    if part in pairs.get(before, ()) or (part == "finger" and before in FINGERS):  # "IndexFinger1"
        return before
    return part


def cut(name: str) -> tuple[str, ...]:
    """Split a name into lower-case tokens, without namespaces ("Armature|mixamorig:Hips")."""
    bare = re.split(r"[:|/]", name)[-1].replace("IK", " IK ")
    words: list[str] = []
    for token in _CUT.findall(bare):
        words += _segments(token.lower())
    return tuple(words)


@lru_cache(maxsize=4096)
def _segments(token: str) -> tuple[str, ...]:
    """Split an unknown token into known ones."""
    if token in _SPLIT:
        return _SPLIT[token]
    if token in _KNOWN or token in _SIDES or not _SHORTEST <= len(token) <= _LONGEST:
        return (token,)
    whole = _covered(token)
    if whole:
        return whole
    if token[0] in "lr":  # the side only as a first letter, and only where nothing else explains the word
        rest = (token[1:],) if token[1:] in _KNOWN else _covered(token[1:])
        if rest:
            return (token[0], *rest)
    hinge = _HINGE.fullmatch(token)
    if hinge:  # one hinge of several that make up a joint: "lfemurrz"
        rest = _segments(hinge[1])
        return rest if rest != (hinge[1],) or hinge[1] in _KNOWN else (token,)
    return (token,)


def _covered(token: str) -> tuple[str, ...]:
    """Cover a token with known ones, the longest first. The result is empty where that leaves a gap."""
    if not token:
        return ()
    for length in range(len(token), 1, -1):
        if token[:length] in _KNOWN:
            rest = _covered(token[length:])
            if length == len(token) or rest:
                return (token[:length], *rest)
    return ()

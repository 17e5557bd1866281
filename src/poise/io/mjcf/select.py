"""Kinematic subset of an MJCF file: bodies, joints and sites. MuJoCo gets nothing else, and no file name.

Meshes, textures, actuators, tendons, sensors and options are omitted, so a model reads without its assets. Every used
number is checked, because MuJoCo accepts NaN and overflowing numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from poise.io.mjcf.include import DEEPEST
from poise.io.numbers import LARGEST, LONGEST_NAME, is_number, shown
from poise.io.xml_files import Element

_DIGITS = 15  # digits of a count; int() rejects some thousands
_MOST_ROWS = 10_000  # maximum number of bodies, joints and sites, with the copies of <replicate>

_LOOPS = ("connect", "weld")
_HOLDERS = {"worldbody", "body", "frame", "replicate"}
_KEPT = {
    "mujoco": {"compiler", "default", "worldbody", "equality", "keyframe"},
    "body": {"body", "frame", "replicate", "joint", "freejoint", "geom", "site", "inertial"},
    "default": {"default", "joint", "geom", "site"},
    "equality": {"joint", "connect", "weld"},
    "keyframe": {"key"},
}

# Tags omitted without a note: they do not affect kinematics.
_KNOWN = {
    "mujoco": {
        "option", "size", "visual", "statistic", "asset", "deformable", "contact", "tendon", "actuator", "sensor",
        "custom", "extension",
    },
    "body": {"camera", "light", "plugin"},
    "default": {
        "mesh", "material", "camera", "light", "pair", "equality", "tendon", "general", "motor", "position", "velocity",
        "intvelocity", "damper", "cylinder", "muscle", "adhesion", "plugin", "dcmotor",
    },
    "keyframe": set[str](),
}  # fmt: skip

# Attributes of the kept elements: text for MuJoCo, and numbers, which are checked here. Attributes in neither table are
# omitted if they are in `_UNUSED_ATTRIBUTES`; MuJoCo reads or rejects all others.
_TURNS = {"pos", "quat", "axisangle", "euler", "xyaxes", "zaxis"}
_WORDS = {
    "compiler": {"angle", "autolimits", "eulerseq", "inertiafromgeom"},
    "default": {"class"},
    "body": {"name", "childclass", "mocap"},
    "frame": {"name", "childclass"},
    "replicate": {"sep"},
    "connect": {"name", "class", "active", "body1", "body2", "site1", "site2"},
    "weld": {"name", "class", "active", "body1", "body2", "site1", "site2"},
    "joint": {"name", "class", "type", "limited", "joint1", "joint2", "active"},
    "freejoint": {"name", "align"},
    "geom": {"name", "class", "type", "mesh", "hfield", "shellinertia"},
    "site": {"name", "class", "type"},
    "key": {"name"},
}
_NUMBERS = {
    "compiler": {"inertiagrouprange"},
    "body": _TURNS,
    "frame": _TURNS,
    "replicate": {"count", "offset", "euler"},
    "connect": {"anchor"},
    "weld": {"anchor", "relpose"},
    "joint": {"pos", "axis", "range", "ref", "polycoef"},
    "geom": _TURNS | {"size", "fromto", "mass", "density", "contype", "conaffinity", "group"},
    "site": _TURNS | {"size", "fromto"},
    "inertial": _TURNS | {"mass", "diaginertia", "fullinertia"},
    "key": {"qpos"},
}
# Attributes without effect on kinematics, for simulation or display only.
_CONTACT = {"solimp", "solref", "margin", "gap", "friction", "condim", "priority", "solmix"}
_LOOKS = {"material", "rgba", "user"}
_UNUSED = {
    "connect": {"solimp", "solref"},
    "weld": {"solimp", "solref", "torquescale"},
    "body": {"gravcomp", "sleep", "fuse", "simple", "user"},
    "joint": {
        "group", "user", "armature", "damping", "frictionloss", "margin", "solimp", "solref", "solimpfriction",
        "solimplimit", "solreffriction", "solreflimit", "springdamper", "springref", "springyield", "stiffness",
        "actuatorfrclimited", "actuatorfrcrange", "actuatorgravcomp",
    },
    "freejoint": {"group"},
    "geom": _CONTACT | _LOOKS | {
        "adhesion", "castshadow", "fitscale", "fluidcoef", "fluidshape", "plugin", "surfacevel",
    },
    "site": _LOOKS | {"group", "mesh"},
    "key": {"act", "ctrl", "mpos", "mquat", "plastic", "qvel", "time"},
}  # fmt: skip
# Masses and armatures required by MuJoCo for simulation.
_FIRST = (
    '<mujoco><compiler boundmass="1e-12" boundinertia="1e-12" balanceinertia="true"/>'
    '<default><joint armature="1"/></default>'
)
_QUOTED = str.maketrans({letter: f"&#{ord(letter)};" for letter in "&<>\"'\n\r\t"})  # importing xml.sax takes 0.1 s
LEAST_MASS = 1e-9  # [kg] smaller masses come from the header above


class _Step(NamedTuple):
    """One element of the traversal. None is the end of the element `tag`."""

    tag: str
    element: Element | None
    depth: int
    times: int  # number of copies by <replicate>


@dataclass
class Selection:
    """Text for MuJoCo, with the element of each line. Omitted elements are counted."""

    lines: list[str] = field(default_factory=list[str])
    elements: list[Element | None] = field(default_factory=list[Element | None])
    left_out: Counter[str] = field(default_factory=Counter[str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    excluded: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def add(self, line: str, element: Element | None = None) -> None:
        """Add a line of text with its element."""
        self.lines.append(line)
        self.elements.append(element)

    def has_loops(self) -> bool:
        """Return whether the model has loop constraints."""
        return any(element is not None and element.tag in _LOOPS for element in self.elements)

    def drop_loops(self) -> Selection:
        """Return a copy without <connect> and <weld>.

        Each of these has two lines: start and end of the element.
        """
        starts = [i for i, element in enumerate(self.elements) if element is not None and element.tag in _LOOPS]
        gone = {i + end for i in starts for end in (0, 1)}
        kept = [pair for i, pair in enumerate(zip(self.lines, self.elements, strict=True)) if i not in gone]
        return replace(self, lines=[line for line, _ in kept], elements=[element for _, element in kept])


def select(root: Element) -> Selection:
    """Select the kinematic elements of a file. FileError for invalid numbers and too large counts."""
    found = Selection()
    found.add(_FIRST)
    rows = 0
    for step in _walk(root, found):
        if step.element is None:
            found.add(f"</{step.tag}>")
            continue
        if step.tag in ("body", "joint", "freejoint", "site"):
            rows += step.times
            if rows > _MOST_ROWS:
                step.element.fail(f"more than {_MOST_ROWS} bodies, joints and sites")
        found.add(f"<{step.tag}{_attributes(step.element)}>", step.element)
    found.add("</mujoco>")
    _note_the_rest(root, found)
    return found


def _walk(root: Element, found: Selection) -> Iterator[_Step]:
    """Iterate over kept elements and their ends, in order. It is iterative."""
    stack = _below(root, 0, 1, found)
    while stack:
        step = stack.pop()
        yield step
        if step.element is not None:
            if step.depth > DEEPEST:
                step.element.fail(f"elements are nested more than {DEEPEST} deep")
            times = step.times * _count(step.element)
            stack.append(_Step(step.tag, None, step.depth, times))
            stack += _below(step.element, step.depth, times, found)


def _below(element: Element, depth: int, times: int, found: Selection) -> list[_Step]:
    """List the kept children, the last first."""
    tag = "body" if element.tag in _HOLDERS else element.tag
    kept: list[_Step] = []
    for child in reversed(element.children):
        if child.tag in _KEPT.get(tag, ()):
            kept.append(_Step(child.tag, child, depth + 1, times))
        elif tag == "equality" or (tag == "body" and child.tag in ("composite", "flexcomp", "attach")):
            found.left_out[f"<{child.tag}>"] += 1
        elif child.tag not in _KNOWN.get(tag, {child.tag}):
            found.unknown[shown(child.tag)[1:-1]] += 1
    return kept


def _count(element: Element) -> int:
    """Read the copy count of <replicate>. It is 1 for other elements."""
    if element.tag != "replicate":
        return 1
    text = element.attributes.get("count", "").strip()
    if not (text.isascii() and text.isdigit()):
        element.fail(f"count of <replicate>: {shown(text)} is not a count")
    if len(text) > _DIGITS or int(text) > _MOST_ROWS:
        element.fail(f"<replicate> makes {shown(text)} copies; at most {_MOST_ROWS} are read")
    return int(text)


def _attributes(element: Element) -> str:
    """Format the kept attributes. FileError for an invalid number."""
    given, tag = element.attributes, "body" if element.tag == "worldbody" else element.tag
    words, numbers, unused = _WORDS.get(tag, set[str]()), _NUMBERS.get(tag, set[str]()), _UNUSED.get(tag, set[str]())
    if tag == "compiler":
        if given.get("coordinate", "local") != "local":
            element.fail("coordinate='global' is of MuJoCo before version 2.3.4; save the model with a newer one")
        unused = set(given) - words - numbers
    for name, value in given.items():
        if name in words and len(value) > LONGEST_NAME:
            element.fail(f"{name} {shown(value)} has more than {LONGEST_NAME} characters")
        if name in numbers:
            _check_numbers(element, name, value)
    return "".join(f' {name}="{value.translate(_QUOTED)}"' for name, value in given.items() if name not in unused)


def _check_numbers(element: Element, name: str, value: str) -> None:
    """Reject words other than numbers and keywords. MuJoCo would read nan, inf and 0x10 as numbers."""
    for word in value.split():
        if is_number(word):
            wrong = abs(float(word)) > LARGEST and name != "range"
        else:
            plain = word.lstrip("+-").lower()
            endless = plain in ("inf", "infinity") and name == "range"
            wrong = not endless and (plain in ("nan", "inf", "infinity") or not word.isalpha())
        if wrong:
            element.fail(f"{name} of <{element.tag}>: {shown(word)} is not a number that can be used")


def _note_the_rest(root: Element, found: Selection) -> None:
    """Count tendons and record excluded body pairs."""
    for part in root.children:
        if part.tag == "tendon":
            found.left_out.update("tendons" for _ in part.children)
        elif part.tag == "contact":
            pairs = [one.attributes for one in part.children if one.tag == "exclude"]
            found.excluded += [(pair.get("body1", ""), pair.get("body2", "")) for pair in pairs]

"""FBX files in the text form, written by hand: a tree of limbs with any property, and curves."""

from __future__ import annotations

SECOND = 46186158000  # of FBX's clock

_HEAD = """; FBX 7.4.0 project file
FBXHeaderExtension:  {{
	FBXHeaderVersion: 1003
	FBXVersion: 7400
	Creator: "a test"
}}
GlobalSettings:  {{
	Version: 1000
	Properties70:  {{
{settings}
	}}
}}
Definitions:  {{
	Version: 100
	Count: 1
}}
"""
_SETTINGS = {
    "UpAxis": 1, "UpAxisSign": 1, "FrontAxis": 2, "FrontAxisSign": 1, "CoordAxis": 0, "CoordAxisSign": 1,
    "OriginalUpAxis": 1, "UnitScaleFactor": 1.0, "TimeMode": 6,
}  # fmt: skip


def node(name, parent="", kind="LimbNode", /, **properties):
    """A node of the tree: vectors by the names of FBX, with blanks left out (LclRotation)."""
    return {"name": name, "parent": parent, "kind": kind, "properties": properties}


def limb():
    """The bytes of a leg that bends its knee for a second."""
    nodes = [
        node("hip"),
        node("knee", "hip", LclTranslation=(0, -4, 0)),
        node("foot", "knee", LclTranslation=(0, -3, 0)),
    ]
    return fbx(nodes, [("bend", 0, 1, {("knee", "R", "X"): [(0, 0), (1, 90)]})])


def fbx(nodes, takes=(), *, settings=(), tail=""):
    """The bytes of a file. A take is (name, begin [s], end [s], {(node, "R", axis): [(second, value), ...]})."""
    every = _SETTINGS | dict(settings)
    lines = [_property(name, value) for name, value in every.items()]
    text = _HEAD.format(settings="\n".join(lines))
    ids = {n["name"]: 1000 + i for i, n in enumerate(nodes)}
    objects, links = [], []
    for i, n in enumerate(nodes):
        objects.append(_model(1000 + i, n))
        links.append(f'\tC: "OO",{1000 + i},{ids.get(n["parent"], 0)}')
        if n["kind"] in ("LimbNode", "Null", "Camera"):
            flags = "Skeleton" if n["kind"] == "LimbNode" else n["kind"]
            objects.append(
                f'\tNodeAttribute: {5000 + i}, "NodeAttribute::{n["name"]}", "{n["kind"]}" {{\n'
                f'\t\tTypeFlags: "{flags}"\n\t}}'
            )
            links.append(f'\tC: "OO",{5000 + i},{1000 + i}')
    for t, take in enumerate(takes):
        _take(20000 * (t + 1), take, ids, objects, links)
    body = "Objects:  {\n" + "\n".join(objects) + "\n}\nConnections:  {\n" + "\n".join(links) + "\n}\n"
    return (text + body + tail).encode()


def _property(name, value):
    if isinstance(value, bool):
        return f'\t\tP: "{name}", "bool", "", "",{int(value)}'
    if isinstance(value, int):
        return f'\t\tP: "{name}", "int", "Integer", "",{value}'
    if isinstance(value, float):
        return f'\t\tP: "{name}", "double", "Number", "",{value!r}'
    return f'\t\tP: "{name}", "Vector3D", "Vector", "",{",".join(map(str, value))}'


def _model(number, n):
    lines = [f'\tModel: {number}, "Model::{n["name"]}", "{n["kind"]}" {{', "\t\tVersion: 232", "\t\tProperties70:  {"]
    for name, value in n["properties"].items():
        spaced = name.replace("Lcl", "Lcl ") if name.startswith("Lcl") else name
        lines.append("\t" + _property(spaced, value))
    return "\n".join([*lines, "\t\t}", "\t}"])


def _take(base, take, ids, objects, links):
    name, begin, end, curves = take
    objects.append(
        f'\tAnimationStack: {base}, "AnimStack::{name}", "" {{\n\t\tProperties70:  {{\n'
        f'\t\t\tP: "LocalStart", "KTime", "Time", "",{round(begin * SECOND)}\n'
        f'\t\t\tP: "LocalStop", "KTime", "Time", "",{round(end * SECOND)}\n\t\t}}\n\t}}'
    )
    objects.append(f'\tAnimationLayer: {base + 1}, "AnimLayer::BaseLayer", "" {{\n\t}}')
    links.append(f'\tC: "OO",{base + 1},{base}')
    whole = {"T": "Lcl Translation", "R": "Lcl Rotation", "S": "Lcl Scaling"}
    made = {}
    for c, ((joint, what, axis), keys) in enumerate(curves.items()):
        if (joint, what) not in made:
            made[joint, what] = base + 100 + c
            objects.append(f'\tAnimationCurveNode: {base + 100 + c}, "AnimCurveNode::{what}", "" {{\n\t}}')
            links.append(f'\tC: "OO",{base + 100 + c},{base + 1}')
            links.append(f'\tC: "OP",{base + 100 + c},{ids[joint]}, "{whole[what]}"')
        times = ",".join(str(round(second * SECOND)) for second, _ in keys)
        values = ",".join(repr(float(value)) for _, value in keys)
        objects.append(
            f'\tAnimationCurve: {base + 5000 + c}, "AnimCurve::", "" {{\n\t\tDefault: 0\n\t\tKeyVer: 4008\n'
            f"\t\tKeyTime: *{len(keys)} {{\n\t\t\ta: {times}\n\t\t}}\n"
            f"\t\tKeyValueFloat: *{len(keys)} {{\n\t\t\ta: {values}\n\t\t}}\n"
            f"\t\tKeyAttrFlags: *1 {{\n\t\t\ta: 4\n\t\t}}\n"
            f"\t\tKeyAttrDataFloat: *4 {{\n\t\t\ta: 0,0,0,0\n\t\t}}\n"
            f"\t\tKeyAttrRefCount: *1 {{\n\t\t\ta: {len(keys)}\n\t\t}}\n\t}}"
        )
        links.append(f'\tC: "OP",{base + 5000 + c},{made[joint, what]}, "d|{axis}"')

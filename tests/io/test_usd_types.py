"""USD attributes of a joint with values of every type: the child hands back plain JSON, or refuses with a sentence."""

from __future__ import annotations

import json
import warnings

import pytest

import poise
from poise.io.subprocess_worker import UnreadableFileError
from tests.io.usd_samples import HEAD

pytest.importorskip("pxr", reason="usd-core is not installed")

from pxr import Sdf, Usd

from poise.io import usd_worker

NUMBERS = ("physics:lowerLimit", "physics:upperLimit", "physics:coneAngle0Limit", "limit:rotX:physics:low")
FLAGS = ("physics:excludeFromArticulation", "physics:jointEnabled")
FRAMES = ("physics:localPos0", "physics:localPos1", "physics:localRot0", "physics:localRot1")
ALL = (*NUMBERS, *FLAGS, *FRAMES, "physics:axis", "limit:rotX:physics:high")
KNOWN = [getattr(Sdf.ValueTypeNames, name) for name in dir(Sdf.ValueTypeNames)]
TYPES = {str(one): one for one in KNOWN if isinstance(one, Sdf.ValueTypeName)}


def stage_with(attribute, kind):
    """A stage with one joint between two bodies, an attribute of which has the default value of a type."""
    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(HEAD + 'def Xform "a" {}\ndef Xform "b" {}\n')
    joint = Sdf.PrimSpec(layer, "j", Sdf.SpecifierDef, "PhysicsRevoluteJoint")
    for k, body in enumerate("ab"):
        Sdf.RelationshipSpec(joint, f"physics:body{k}").targetPathList.Append(f"/{body}")
    if attribute == "limit:rotX:physics:high":
        Sdf.AttributeSpec(joint, "limit:rotX:physics:low", Sdf.ValueTypeNames.Float).default = 1.0
    one = Sdf.AttributeSpec(joint, attribute, kind)
    if str(kind) not in ("group", "opaque"):  # these two have no values
        value = kind.defaultValue
        one.default = type(value)(1) if kind.isArray else value  # an array of one
    return Usd.Stage.Open(layer)


def test_every_type_is_tested():
    assert {"float3", "double", "half", "token[]", "matrix4d", "timecode", "asset", "quath", "bool"} <= set(TYPES)
    assert len(TYPES) > 100


@pytest.mark.parametrize("attribute", ALL)
def test_a_value_of_every_type_is_plain_or_refused(attribute):
    read, refused = set(), {}
    for name, kind in TYPES.items():
        try:
            header, _ = usd_worker._StageReport(stage_with(attribute, kind), []).build()
        except UnreadableFileError as refusal:
            refused[name] = str(refusal)
        else:
            read.add(name)
            (joint,) = json.loads(json.dumps(header))["joints"]
            assert joint["path"] == "/j"
            assert all(f"{attribute} of /j (" in odd for odd in header["mistyped_attributes"])
    assert {"double", "float"} <= read or attribute in FRAMES
    assert bool(refused) == (attribute in FRAMES)
    assert all(f"{attribute} of /j" in words for words in refused.values())


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("float3 physics:lowerLimit = (1, 2, 3)", "physics:lowerLimit of /j (Vec3f)"),
        ('string physics:upperLimit = "wide"', "physics:upperLimit of /j (str)"),
    ],
)
def test_a_limit_of_another_type_is_noted(tmp_path, line, shown):
    joint = f"rel physics:body0 = </a>\n    rel physics:body1 = </b>\n    {line}"
    path = tmp_path / "a.usda"
    path.write_text(
        f'{HEAD}def Xform "a" {{}}\ndef Xform "b" {{}}\ndef PhysicsRevoluteJoint "j"\n{{\n    {joint}\n}}\n'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        rig = poise.load(path)
    assert rig.skeleton["j"].limit is None
    assert rig.notes == (f"attributes of another type than USD gives them are not read: {shown}",)


OF_FIGURES = {
    "Skeleton": ("joints", "restTransforms", "bindTransforms"),
    "SkelAnimation": ("joints", "translations", "rotations", "scales"),
}


@pytest.mark.parametrize(("prim", "attribute"), [(prim, one) for prim, names in OF_FIGURES.items() for one in names])
def test_a_figure_of_other_types_is_plain_or_refused(prim, attribute):
    """Those that go together with a figure's own types are read, such as doubles for floats; all others are refused."""
    read = set()
    for name, kind in TYPES.items():
        layer = Sdf.Layer.CreateAnonymous(".usda")
        layer.ImportFromString(f'{HEAD}def {prim} "a" {{}}\n')
        one = Sdf.AttributeSpec(layer.GetPrimAtPath("/a"), attribute, kind)
        if str(kind) not in ("group", "opaque"):
            one.default = type(kind.defaultValue)(1) if kind.isArray else kind.defaultValue
        try:
            header, blocks = usd_worker._StageReport(Usd.Stage.Open(layer), []).build()
        except (UnreadableFileError, TypeError, ValueError, AttributeError):  # `work` makes one sentence of each
            continue
        read.add(name)
        json.dumps(header)
        assert all(block.typecode == "d" for block in blocks)
    assert {"token[]", "matrix4d[]", "float3[]", "half3[]", "quatf[]"} & read
    assert len(read) < len(TYPES)

"""USD: real files and files written here, against usd-core's own forward kinematics; broken and hostile ones."""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np
import pytest

import poise
from poise.io.formats import usd as module
from poise.model.limits import EulerBox, Range
from poise.model.skeleton import Kind
from tests.blind_solver import solve_blindly
from tests.io.usd_samples import FIGURE, HEAD, LEG, WAY, leg, skeleton

pytestmark = pytest.mark.long

pxr = pytest.importorskip("pxr", reason="usd-core is not installed")


def joint(kind, name, bodies, at=((0, 0, 0), (0, 0, 0)), **properties):
    """The text of a physics joint between two bodies."""
    lines = [f'def {kind} "{name}"', "{"]
    lines += [f"    rel physics:body{k} = <{body}>" for k, body in enumerate(bodies) if body]
    lines += [f"    point3f physics:localPos{k} = {place}" for k, place in enumerate(at)]
    lines += [f"    {key.replace('__', ':')} = {value}" for key, value in properties.items()]
    return "\n".join([*lines, "}"]) + "\n"


def hinge(name, bodies, at=((0, 0, 1), (0, 0, -0.5)), low=-30, high=90):
    ends = {"float physics__lowerLimit": low, "float physics__upperLimit": high}
    return joint("PhysicsRevoluteJoint", name, bodies, at, **{"uniform token physics__axis": '"Y"'}, **ends)


BODIES = "".join(f'def Xform "{name}" {{}}\n' for name in "abcd")
LOOP = HEAD + BODIES + "".join(hinge(f"j{k}", (f"/{p}", f"/{c}")) for k, (p, c) in enumerate(["ab", "bc", "cd", "da"]))


@pytest.fixture
def read(tmp_path):
    """A function that reads a text."""

    def reader(text, name="a.usda"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return loaded(tmp_path / name)

    return reader


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        return poise.load(path)


def by_usd(path, code):
    """World places of the joints of every skeleton at a time code, as usd-core computes them; prim's place included."""
    from pxr import Gf, Usd, UsdGeom, UsdSkel

    stage, cache, found = Usd.Stage.Open(str(path)), UsdSkel.Cache(), {}
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Skeleton):
            for root in (prim, *ancestors(prim)):
                if root.IsA(UsdSkel.Root):
                    cache.Populate(UsdSkel.Root(root), Usd.PrimDefaultPredicate)
            query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
            matrices = query.ComputeJointWorldTransforms(UsdGeom.XformCache(Usd.TimeCode(code)))
            for path_, matrix in zip(query.GetJointOrder(), matrices, strict=True):
                found[f"{prim.GetPath()}:{path_}"] = np.array(Gf.Matrix4d(matrix)).T
    return found


def ancestors(prim):
    while prim := prim.GetParent():
        yield prim


@pytest.mark.parametrize("name", ["skel_lbs", "skel_twoBends"])
class TestRealFiles:
    def test_every_joint_stands_where_usd_has_it(self, data, name):
        path = data / "usd" / f"{name}.usda"
        rig = loaded(path)
        clip = rig.clips[0]
        first = 1.0 if name == "skel_lbs" else 0.0
        for time in (0.0, 0.3, 0.77, clip.duration):
            wanted = by_usd(path, first + 24.0 * min(time, clip.duration))
            worlds = clip.at(time).world.matrices
            size = max(np.ptp([m[:3, 3] for m in wanted.values()], axis=0))
            for row, source in enumerate(rig.skeleton.source_ids):
                if source in wanted:
                    np.testing.assert_allclose(worlds[row], wanted[source], atol=1e-6 * max(size, 1.0))

    @pytest.mark.parametrize("suffix", [".glb", ".bvh"])
    def test_a_solved_limb_is_saved_and_read_again(self, data, tmp_path, name, suffix):
        rig = loaded(data / "usd" / f"{name}.usda")
        tip = rig.skeleton.names[-1]
        near = rig.rest.world[tip].positions * (0.9, 0.9, 0.9) + (0.0, 0.1, 0.1)
        result = poise.solve(rig.rest, poise.Position(tip, near))
        for thing in (result.pose, rig.clips[0]):
            poise.save(thing, tmp_path / f"a{suffix}")
            again = loaded(tmp_path / f"a{suffix}")
            if isinstance(thing, poise.Pose):
                there = again.pose.world[tip].positions
                np.testing.assert_allclose(there, thing.world[tip].positions, atol=1e-4)


def test_a_robot_of_physics_joints(data, tmp_path):
    rig = loaded(data / "usd" / "humanoid_mimickit.usd")
    s = rig.skeleton
    assert (s.metres_per_unit, s.up) == (1.0, "z")
    np.testing.assert_allclose(rig.rest.world["left_foot"].positions, (0, 0.084885, -0.831416), atol=1e-5)
    np.testing.assert_allclose(rig.rest.world["left_lower_arm"].positions, (-0.02405, 0.457898, 0.479651), atol=1e-5)
    assert s["right_knee"].kind == Kind.HINGE
    assert s["pelvis"].kind == Kind.FREE  # nothing holds it
    roles = poise.find_roles(rig)
    assert (roles.kind, roles.missing) == ("humanoid", ())
    assert [roles.joints[role] for role in ("hips", "spine", "leftHand")] == ["pelvis", "torso", "left_hand"]
    assert s["right_knee"].limit == Range(0.0, np.radians(160))
    assert s["head"].limit == EulerBox.degrees("XYZ", x=(-50, 50), y=(-40, 60), z=(-45, 45))
    foot = rig.rest.world["right_foot"].positions
    result = poise.solve(
        rig.rest, poise.Position("right_foot", foot + np.array([0.1, 0.0, 0.2]), root="right_thigh")
    ).require()
    poise.save(result.pose, tmp_path / "a.glb")
    there = loaded(tmp_path / "a.glb").pose.world["right_foot"].positions
    np.testing.assert_allclose(there, result.pose.world["right_foot"].positions, atol=1e-5)


class TestFigures:
    def test_fewer_joints_in_the_animation(self, read):
        rig = read(FIGURE)
        assert rig.skeleton.names == ("Leg", "hip", "knee", "foot")
        assert (rig.skeleton.metres_per_unit, rig.skeleton.up) == (0.01, "z")
        clip = rig.clips[0]
        assert clip.name == "Walk"
        np.testing.assert_allclose(clip.times, (0, 0.5, 1.5))
        np.testing.assert_allclose(clip.at(1.0).world["foot"].positions, (1, 4, 4), atol=1e-6)
        assert any("begins at 0.5 s in the file" in note for note in rig.notes)

    def test_several_skeletons(self, read):
        rig = read(HEAD + skeleton("L", LEG, WAY) + skeleton("R", LEG, WAY, place=(9, 0, 0)))
        assert rig.skeleton.names == ("L", "hip", "knee", "foot", "R", "hip_1", "knee_1", "foot_1")
        np.testing.assert_allclose(rig.rest.world["foot_1"].positions, (9, 0, 1))
        assert any("hip_1, knee_1, foot_1" in note for note in rig.notes)

    def test_without_rest_the_bind_pose(self, read):
        rig = read(HEAD + skeleton("L", ["a", "a/b"], [(0, 0, 1), (0, 2, 1)], rest=False))
        np.testing.assert_allclose(rig.rest.world["b"].positions, (0, 2, 1))
        assert any("no rest transforms" in note for note in rig.notes)

    @pytest.mark.parametrize("suffix", [".usdc", ".usdz", ".usd"])
    def test_the_other_forms(self, read, suffix):
        text, rig = read(FIGURE), read(leg(suffix), f"b{suffix}")
        assert rig.skeleton == text.skeleton
        np.testing.assert_allclose(rig.clips[0].at(0.7).world.positions, text.clips[0].at(0.7).world.positions)

    def test_a_reference_beside_the_file(self, tmp_path, read):
        (tmp_path / "leg.usda").write_text(FIGURE.replace(HEAD, HEAD.replace("(\n", '(\n    defaultPrim = "Leg"\n', 1)))
        rig = read(HEAD + 'def "There" (references = @./leg.usda@</Leg>) {}\n')
        assert rig.skeleton.names == ("There", "hip", "knee", "foot")

    def test_a_reference_to_a_sibling_folder_is_read_by_permission(self, tmp_path):
        named = FIGURE.replace(HEAD, HEAD.replace("(\n", '(\n    defaultPrim = "Leg"\n', 1))
        for folder, name, text in (
            ("parts", "leg.usda", named),
            ("models", "main.usda", HEAD + 'def "There" (references = @../parts/leg.usda@</Leg>) {}\n'),
        ):
            (tmp_path / "kit" / folder).mkdir(parents=True)
            (tmp_path / "kit" / folder / name).write_text(text)
        main = tmp_path / "kit" / "models" / "main.usda"
        with pytest.raises(
            poise.FileError, match="leads out of the file's folder; .*permit a folder that holds it: include_root"
        ):
            poise.load(main)
        assert poise.load(main, include_root=tmp_path / "kit").skeleton.names == ("There", "hip", "knee", "foot")
        (tmp_path / "kit" / "parts" / "leg.usda").rename(tmp_path / "leg.usda")
        (tmp_path / "kit" / "parts" / "leg.usda").symlink_to(tmp_path / "leg.usda")
        with pytest.raises(poise.FileError, match="and of .*kit; it was not opened"):
            poise.load(main, include_root=tmp_path / "kit")


class TestRobots:
    def test_frames_on_both_sides_and_ranges(self, read):
        rig = read(HEAD + BODIES + hinge("j", ("/a", "/b")))
        assert rig.skeleton["j"].limit == Range(np.radians(-30), np.radians(90))
        np.testing.assert_allclose(rig.rest.world["b"].positions, (0, 0, 1.5), atol=1e-12)
        bent = rig.rest.replace({"j": np.pi / 2})
        np.testing.assert_allclose(bent.world["b"].positions, (0.5, 0, 1), atol=1e-12)

    @pytest.mark.parametrize(
        ("body", "world", "kind"),
        [
            ("", False, Kind.FIXED),
            ('(prepend apiSchemas = ["PhysicsRigidBodyAPI"])', False, Kind.FREE),
            ('(prepend apiSchemas = ["PhysicsRigidBodyAPI"])', True, Kind.FIXED),
            ('(prepend apiSchemas = ["PhysicsRigidBodyAPI"]) { bool physics:kinematicEnabled = 1 }', False, Kind.FIXED),
            ('(prepend apiSchemas = ["PhysicsRigidBodyAPI"]) { bool physics:rigidBodyEnabled = 0 }', False, Kind.FIXED),
        ],
    )
    def test_a_base_is_free_where_a_simulation_lets_it_fall(self, read, body, world, kind):
        given = f'def Xform "a" {body}{"" if "{" in body else " {}"}\n'
        text = given + 'def Xform "b" {}\n' + hinge("j", ("/a", "/b"))
        base = joint("PhysicsFixedJoint", "base", ("", "/a")) if world else ""
        rig = read(HEAD + text.replace("{ bool", "{\n    bool").replace(" }", "\n}") + base)
        assert rig.skeleton["a"].kind == kind
        np.testing.assert_allclose(rig.rest.world["b"].positions, (0, 0, 1.5), atol=1e-12)

    def test_a_joint_that_is_written_the_other_way_round(self, read):
        """The tree begins at the body that the world holds; the sense of the joint stays that of the file."""
        base = joint("PhysicsFixedJoint", "base", ("", "/b"))
        rig = read(HEAD + BODIES + base + hinge("j", ("/a", "/b"), ((0, 0, 1), (0, 0, 0))))
        assert rig.skeleton["j"].limit == Range(np.radians(-30), np.radians(90))
        assert rig.skeleton["b"].parent is None
        bent = rig.rest.replace({"j": np.pi / 6})
        a, b = (bent.world[name].matrices for name in "ab")
        turn = (np.linalg.inv(a) @ b)[:3, :3]  # of b in a: the file's angle
        angle = np.arctan2(turn[0, 2], turn[0, 0])
        assert np.radians(-30) - 1e-9 <= angle <= np.radians(90) + 1e-9
        assert angle == pytest.approx(np.pi / 6)

    def test_a_loop_is_opened_and_reported(self, read):
        rig = read(LOOP)
        moving = [n for n, k in zip(rig.skeleton.names, rig.skeleton.kinds, strict=True) if k == Kind.HINGE]
        assert moving == ["j0", "j1", "j2"]
        assert any("close a loop" in note and note.endswith("/j3") for note in rig.notes)
        (loop,) = rig.skeleton.loops
        assert (loop.name, loop.joints, loop.holds) == ("j3", ("d", "a"), ("point", "axis"))

    @pytest.mark.parametrize(
        ("kind", "axis", "ends", "holds"),
        [
            ("PhysicsFixedJoint", "X", {}, ("point", "turn")),
            ("PhysicsSphericalJoint", "X", {}, ("point",)),
            ("PhysicsRevoluteJoint", "Z", {}, ("point", "axis")),
            ("PhysicsPrismaticJoint", "Y", {}, ("line", "turn")),
            (
                "PhysicsJoint",
                "X",
                dict.fromkeys(["transX", "transY", "transZ", "rotX", "rotY"], (1, -1)),
                ("point", "axis"),
            ),
            (
                "PhysicsJoint",
                "X",
                dict.fromkeys(["transX", "transZ", "rotX", "rotY", "rotZ"], (1, -1)),
                ("line", "turn"),
            ),
        ],
    )
    def test_what_each_kind_of_joint_holds_together(self, read, kind, axis, ends, holds):
        """A chain of two hinges is closed at rest; moving one opens it by what forward kinematics says."""
        limits = {
            f"float limit__{name}__physics__{side}": value
            for name, (low, high) in ends.items()
            for side, value in (("low", low), ("high", high))
        }
        tie = joint(
            kind, "tie", ("/a", "/c"), ((0, 0, 2), (0, 0, 0)), **{"uniform token physics__axis": f'"{axis}"'}, **limits
        )
        hinges = [
            hinge(f"j{k}", ends, ((0, 0, 1), (0, 0, 0)), -170, 170)
            for k, ends in enumerate([("/a", "/b"), ("/b", "/c")])
        ]
        rig = read(HEAD + BODIES + "".join(hinges) + tie)
        (loop,) = rig.skeleton.loops
        assert loop.holds == holds
        goal = poise.Position("c", rig.rest.world["c"].positions)
        assert poise.solve(rig.rest, goal).reached
        bent = poise.Pose(rig.skeleton, [0.5, -0.3])
        found = solve_blindly(bent, poise.Position("c", bent.world["c"].positions))
        assert found.status is poise.Status.loops_open
        at = bent.world["c"].positions - [0, 0, 2]
        along = np.eye(3)["XYZ".index("Y" if kind == "PhysicsJoint" else axis)]
        gap = np.linalg.norm(at - (at @ along) * along if "line" in holds else at)
        (left,) = found.open_loops()
        assert left.distance == pytest.approx(gap, abs=1e-9)
        free = "Z" if kind == "PhysicsJoint" else axis
        angle = 0.2 if "turn" in holds or ("axis" in holds and free != "Y") else 0.0
        assert left.angle == pytest.approx(angle, abs=1e-9)

    @pytest.mark.parametrize("bodies", [("/b", "/c"), ("/c", "/b")])
    def test_a_joint_outside_of_its_articulation_carries_a_body_that_nothing_else_does(self, read, bodies):
        apart = joint("PhysicsRevoluteJoint", "far", bodies, ((0, 0, 0.25),) * 2, **{
            "bool physics__excludeFromArticulation": "true",
        })  # fmt: skip
        rig = read(HEAD + BODIES + hinge("j", ("/a", "/b")) + apart)
        s = rig.skeleton
        assert [s["far"].parent, s["c"].parent, s["far"].kind] == ["b", "far", Kind.HINGE]
        np.testing.assert_allclose(rig.rest.world["c"].positions, (0, 0, 1.5), atol=1e-12)

    def test_a_body_that_stands_turned_in_the_place_of_its_joint(self, read):
        """A quarter about z in the frame of the carried body: its own axes stand a quarter the other way."""
        turned = joint("PhysicsRevoluteJoint", "j", ("/a", "/b"), **{
            "uniform token physics__axis": '"Z"', "quatf physics__localRot1": "(0.70710678, 0, 0, 0.70710678)",
        })  # fmt: skip
        rig = read(HEAD + BODIES + turned)
        np.testing.assert_allclose(rig.rest.world["b"].matrices[:3, 0], (0, -1, 0), atol=1e-7)

    def test_joints_of_kinds_that_are_not_read_are_reported(self, read):
        distance = joint("PhysicsDistanceJoint", "rope", ("/b", "/c"))
        notes = read(HEAD + BODIES + hinge("j", ("/a", "/b")) + distance).notes
        assert "physics joints of other kinds are not read: PhysicsDistanceJoint" in notes

    @pytest.mark.parametrize(("bodies", "sense"), [(("", "/a"), 1.0), (("/a", ""), -1.0)])
    def test_a_joint_to_the_world_keeps_its_motion(self, read, bodies, sense):
        """As the cart of a cart and pole; the file's order of the two bodies decides the sense."""
        ends = {"float physics__lowerLimit": -4, "float physics__upperLimit": 3}
        at = ((0, 0, 0), (1, 2, 3)) if bodies[0] else ((1, 2, 3), (0, 0, 0))
        rail = joint("PhysicsPrismaticJoint", "rail", bodies, at, **{
            "uniform token physics__axis": '"Y"', **ends,
        })  # fmt: skip
        rig = read(HEAD + BODIES + rail + hinge("j", ("/a", "/b")))
        s = rig.skeleton
        assert [s.names[0], s["rail"].parent, s["a"].parent, s["rail"].kind] == ["world", "world", "world", Kind.SLIDE]
        assert s["rail"].limit == Range(-4.0, 3.0)
        moved = rig.rest.replace({"rail": 2.0}).world["b"].positions - rig.rest.world["b"].positions
        np.testing.assert_allclose(moved, (0, 2 * sense, 0), atol=1e-12)
        assert not rig.notes
        place = rig.rest.replace({"rail": -3.5, "j": 0.4}).world["b"].positions
        assert poise.solve(rig.rest, poise.Position("b", place)).reached

    def test_a_hinge_to_the_world(self, read):
        rig = read(HEAD + BODIES + hinge("door", ("", "/a"), ((1, 0, 0), (0, 0, 0))))
        open_ = rig.rest.replace({"door": np.pi / 2})
        np.testing.assert_allclose(open_.world["a"].positions, (1, 0, 0), atol=1e-12)
        np.testing.assert_allclose(open_.world["a"].matrices[:3, 0], (0, 0, -1), atol=1e-12)

    def test_a_second_joint_to_the_world_closes_a_loop(self, read):
        rails = [joint("PhysicsPrismaticJoint", f"rail{k}", ("", "/a")) for k in (1, 2)]
        rig = read(HEAD + BODIES + "".join(rails))
        assert rig.skeleton.names == ("world", "rail1")
        (note,) = rig.notes
        assert note == "joints that close a loop are not part of the tree, and poses can open the loop: /rail2"
        assert rig.skeleton.loops[0].joints == ("world", "rail1")
        fixed = joint("PhysicsFixedJoint", "base", ("", "/a"))
        assert read(HEAD + BODIES + rails[0] + fixed).skeleton.names == ("a",)

    def test_the_row_of_the_world_takes_no_name_away(self, read):
        rail = joint("PhysicsPrismaticJoint", "rail", ("", "/a/world"), ((0, 0, 0), (0, 0, 1)))
        rig = read(HEAD + 'def Xform "a"\n{\n    def Xform "world" {}\n}\n' + rail)
        assert rig.skeleton.names == ("world_1", "rail", "world")

    def test_a_joint_to_the_world_outside_of_its_articulation(self, read):
        apart = joint("PhysicsRevoluteJoint", "far", ("", "/c"), ((0, 0, 0.25),) * 2, **{
            "bool physics__excludeFromArticulation": "true",
        })  # fmt: skip
        s = read(HEAD + BODIES + hinge("j", ("/a", "/b")) + apart).skeleton
        assert [s["far"].parent, s["c"].parent, s["far"].kind] == ["world", "far", Kind.HINGE]

    def test_a_lower_limit_above_the_upper_one_is_noted(self, read):
        rig = read(HEAD + BODIES + hinge("j", ("/a", "/b"), low=9, high=3))
        assert rig.skeleton["j"].limit is None
        assert rig.notes == ("the range of joint /j is ignored: its lower limit 9 is above its upper limit 3",)

    @pytest.mark.parametrize(
        ("line", "note"),
        [
            ('token physics:axis = "z"', "the axis 'z' of joint /j is not X, Y or Z: X is read"),
            ("float physics:lowerLimit = nan", "the range of joint /j is ignored: a limit is not a number"),
        ],
    )
    def test_an_axis_and_a_limit_without_a_meaning_are_noted(self, read, line, note):
        bodies = "rel physics:body0 = </a>\nrel physics:body1 = </b>\n"
        rig = read(f'{HEAD}{BODIES}def PhysicsRevoluteJoint "j"\n{{\n{bodies}{line}\n}}\n')
        assert note in rig.notes
        assert (rig.skeleton["j"].axis, rig.skeleton["j"].limit) == ((1.0, 0.0, 0.0), None)

    @pytest.mark.parametrize("bodies", [("/a", "/b"), ("", "/b"), ("/b", "")])
    def test_a_joint_of_six_freedoms_keeps_its_slides(self, read, bodies):
        """Along x and z, and a turn about y: the order of the two bodies decides the sense, as for other joints."""
        ends = {"transX": (-1, 2), "transY": (1, -1), "transZ": ("-inf", "inf"), "rotX": (1, -1), "rotZ": (1, -1)}
        limits = {
            f"float limit__{name}__physics__{end}": value
            for name, pair in ends.items()
            for end, value in zip(("low", "high"), pair, strict=True)
        }
        rig = read(HEAD + BODIES + joint("PhysicsJoint", "six", bodies, ((0, 0, 0), (0, 0, 0)), **limits))
        s, sense = rig.skeleton, -1.0 if bodies[1] == "" else 1.0
        assert [s[name].kind for name in ("six_x", "six_z", "six")] == [Kind.SLIDE, Kind.SLIDE, Kind.BALL]
        assert [s["six_x"].limit, s["six_z"].limit] == [Range(-1.0, 2.0), None]
        moved = rig.rest.replace({"six_x": 0.5, "six_z": -3.0}).world["b"].positions
        np.testing.assert_allclose(moved, (0.5 * sense, 0, -3 * sense), atol=1e-12)
        turn = (np.cos(0.25), 0, np.sin(0.25), 0)
        both = rig.rest.replace({"six_x": 0.5, "six_z": -3.0, "six": turn}).world["b"].matrices
        if sense > 0:  # slides go along the axes of the first body, whatever the turn
            np.testing.assert_allclose(both[:3, 3], moved, atol=1e-12)
        else:  # along those of the body that is carried
            np.testing.assert_allclose(both[:3, 3], both[:3, :3] @ moved, atol=1e-12)

    def test_a_joint_of_six_freedoms_that_only_slides(self, read):
        locked = {
            f"float limit__{name}__physics__{end}": value
            for name in ("transX", "transZ", "rotX", "rotY", "rotZ")
            for end, value in (("low", 1), ("high", -1))
        }
        rig = read(HEAD + BODIES + joint("PhysicsJoint", "six", ("/a", "/b"), **locked))
        assert rig.skeleton.names == ("a", "six")
        assert (rig.skeleton["six"].kind, rig.skeleton["six"].axis) == (Kind.SLIDE, (0.0, 1.0, 0.0))

    def test_a_slide(self, read):
        text = joint("PhysicsPrismaticJoint", "s", ("/a", "/b"), physics__lowerLimit=0).replace(
            "physics:lower", "float physics:lower"
        )
        rig = read(HEAD + BODIES + text)
        assert rig.skeleton["s"].kind == Kind.SLIDE
        assert rig.skeleton["s"].limit == Range(0.0, np.inf)


INF = skeleton("L", ["a"], [("inf", 0, 0)])
REFUSED = {
    "nothing": (b"", "the file is empty"),
    "another head": (b"hello", "does not begin as one"),
    "a head alone": (b"#usda 1.0\n", "there is no skeleton in it: none of its 0 prims"),
    "plain Xforms": (HEAD + BODIES, "there is no skeleton in it: none of its 4 prims"),
    "brackets that stay open": (FIGURE[:-30], "usd-core cannot read it"),
    "what is no USD": ("#usda 1.0\nhello\n", "usd-core cannot read it"),
    "a reference upwards": (HEAD + 'def "A" (references = @../../../etc/passwd@) {}', "leads out of the file's folder"),
    "an absolute reference": (HEAD + 'def "A" (references = @/etc/passwd@) {}', "leads out of the file's folder"),
    "a payload upwards": (HEAD + 'def "A" (payload = @../a.usd@) {}', "leads out of the file's folder"),
    "a sublayer upwards": (HEAD.replace("(\n", "(\n    subLayers = [@../x.usda@]\n"), "leads out of the file's folder"),
    "a variant that leads out": (
        HEAD + 'def "A" (variants = {string v = "x"}\nprepend variantSets = "v") {\nvariantSet "v" = {\n'
        '"x" (references = @../../x.usda@) {}\n}\n}\n', "leads out of the file's folder",
    ),
    "value clips": (
        HEAD + 'def "A" (clips = { dictionary default = { asset[] assetPaths = [@/etc/passwd@] } }) {}', "value clips"
    ),
    "infinite places": (HEAD + INF, "not finite or too large"),
    "NaN": (HEAD + INF.replace("inf", "nan"), "not finite or too large"),
    "huge places": (HEAD + INF.replace("inf", "1e300"), "not finite or too large"),
    "too few transforms": (HEAD + skeleton("L", LEG, WAY[:2]), "3 joints need 3 rest transforms; there are 2"),
    "no transforms": (HEAD + skeleton("L", LEG, WAY, rest=False, bind=False), "neither rest nor bind"),
    "children first": (HEAD + skeleton("L", LEG[::-1], WAY), "are not listed after their parents"),
    "a joint twice": (HEAD + skeleton("L", ["a", "a"], WAY[:2]), "the same path twice"),
    "a place of one number": (
        HEAD + BODIES + hinge("j", ("/a", "/b"), ((0, 0, 1), 7))
        .replace("point3f physics:localPos1", "int physics:localPos1"),
        "physics:localPos1 of /j (int) is not a position of three numbers",
    ),
    "a turn of three numbers": (
        HEAD + BODIES + hinge("j", ("/a", "/b")).replace("{", "{\n    float3 physics:localRot1 = (1, 0, 0)"),
        "physics:localRot1 of /j (Vec3f) is not a quaternion",
    ),
    "a frame of infinity": (
        HEAD + BODIES + hinge("j", ("/a", "/b"), (("inf", 0, 0), (0, 0, 0))), "its frame is not finite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.long
def test_refused(what, read):
    text, words = REFUSED[what]
    text = text.replace("'inf'", "inf") if isinstance(text, str) else text
    with pytest.raises(poise.FileError) as refusal:
        read(text)
    assert words in str(refusal.value)
    assert "a.usda" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FIGURE[:-30], "usd-core cannot read it: line 21, column 60: parse error at the end of the file"),
        ("#usda 1.0\nhello\n", "usd-core cannot read it: line 2, column 1: parse error at 'hello'"),
        ('#usda 1.0\n(\n    doc = "open\n)\n', "parse error at"),
        ("#usda 9.0\n", "line 1, column 1: Cannot parse layer version '9.0'"),
        (FIGURE.replace("token[] joints", "tokn[] joints"), "has another type than USD gives it"),
        (leg(".usdc")[:900], "usd-core cannot read it: Sdf crate file corrupt, possibly truncated"),
    ],
)
def test_what_usd_says_is_reported_without_its_sources(read, text, message):
    with pytest.raises(poise.FileError) as refusal:
        read(text, "a.usdc" if isinstance(text, bytes) else "a.usda")
    assert message in str(refusal.value)
    for word in ("pxr", "Error in", "/opt", ".cpp", ".h ", "ascii", "::"):
        assert word not in str(refusal.value)


@pytest.mark.parametrize("suffix", [".usd", ".usdc", ".usdz"])
@pytest.mark.parametrize("rest", [b"", b"\x00" * 200, b"\xff" * 200, bytes(range(256)) * 9])
@pytest.mark.long
def test_binary_nonsense(read, suffix, rest):
    head = {".usdz": b"PK\x03\x04"}.get(suffix, b"PXR-USDC\x00\x08\x00" + bytes(5))
    with pytest.raises(poise.FileError):
        read(head + rest, f"a{suffix}")


def test_a_link_that_leads_out(read, tmp_path):
    outside = tmp_path.parent / "elsewhere.usda"
    outside.write_text(FIGURE)
    (tmp_path / "inside.usda").symlink_to(outside)
    with pytest.raises(poise.FileError, match="leads out of the file's folder"):
        read(HEAD + 'def "A" (references = @./inside.usda@</Leg>) {}')


def test_a_layer_that_is_not_there_is_reported(read):
    rig = read(FIGURE + 'def "A" (references = @./nowhere.usda@) {}')
    assert any("are not there: ./nowhere.usda" in note for note in rig.notes)


def test_a_real_hostile_one(data):
    with pytest.raises(poise.FileError, match="leads out of the file's folder; it was not opened"):
        loaded(data / "bad_inputs" / "usda_reference_traversal.usda")


def test_without_the_extra_the_way_out_is_reported(monkeypatch, tmp_path):
    (tmp_path / "a.usda").write_text(FIGURE)
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(poise.FileError, match=r"pip install 'poise\[usd\]'; or save it as \.glb with Blender"):
        poise.load(tmp_path / "a.usda")


def test_it_is_not_written_and_what_is_instead_is_reported(read, tmp_path):
    with pytest.raises(poise.FileError, match=r"USD files are read, not written; save as \.glb or \.bvh"):
        poise.save(read(FIGURE).rest, tmp_path / "b.usdc")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse this name")
def test_a_path_that_is_not_utf_8_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / os.fsdecode(b"wei\xdf.usda")
    path.write_text("#usda 1.0\n")
    with pytest.raises(poise.FileError, match="path that is not UTF-8: rename it"):
        poise.load(path)

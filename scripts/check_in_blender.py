"""Open what docs/pose_to_blender.md writes in Blender, and compare the bones: `python scripts/check_in_blender.py`.

Needs Blender as a module in a Python of its own (`pip install bpy`) beside what Poise needs, and Poise on PYTHONPATH.

checks  the imported figure, its action on a rig that Blender exported, the BVH file; FILES: a crouch of each character
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import poise

Floats: TypeAlias = NDArray[np.float64]
PAGE = Path(__file__).parent.parent / "docs" / "pose_to_blender.md"
LARGEST_M = 2e-5  # 32-bit numbers of centimetres; of a joint in Blender from where Poise has it
ROLL = 0.3  # [rad] each bone of the rig that is exported is rolled by so much more than the one before
SIZE, SAMPLES = (860, 480), 32  # [pixels] of the picture; rays of each
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Check the page, and the characters that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILES", help="characters: .glb, .gltf, .vrm")
    parser.add_argument("--picture", type=Path, help="render the last pose of the page into this .png or .webp")
    options = parser.parse_args()
    bpy = importlib.import_module("bpy")
    files = [path.resolve() for path in options.files]
    picture = options.picture and options.picture.resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        poise.samples.copy_to(folder)
        exec("\n".join(_PYTHON.findall(PAGE.read_text(encoding="utf-8"))), {})  # noqa: S102  (the project's own page)
        found = {
            "picks_up.glb": check_import(bpy, Path("picks_up.glb"), "pick up"),
            "picked_up.glb": check_import(bpy, Path("picked_up.glb"), "picked up"),
            "picks_up.bvh": check_import(bpy, Path("picks_up.bvh"), "picks_up"),
            "on an exported rig": check_own_rig(bpy),
        }
        if picture:
            check_import(bpy, Path("picked_up.glb"), "picked up")
            render(bpy, picture)
        for file in files:
            write_crouch(file, Path("crouch.glb"))
            found[file.name] = check_import(bpy, Path("crouch.glb"), "crouch")
    print(f"Blender {bpy.app.version_string}: the farthest joint from where Poise has it")
    for name, farthest in found.items():
        print(f"{farthest:10.2e} m  {name}")
    return 0 if max(found.values()) <= LARGEST_M else 1


def check_import(bpy: Any, path: Path, action: str) -> float:
    """Import a file into an empty scene, and measure how far joints are off while an action is done."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = import_file(bpy, path)
    return measure(bpy, armature, action, path)


def check_own_rig(bpy: Any) -> float:
    """Export a rig of other tails and rolls from Blender, pose it, and put the action on the rig itself."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    own = import_file(bpy, Path("humanoid.glb"))
    own.animation_data_clear()
    for each in list(bpy.data.actions):
        bpy.data.actions.remove(each)
    bpy.context.view_layer.objects.active = own
    bpy.ops.object.mode_set(mode="EDIT")
    for number, bone in enumerate(own.data.edit_bones):
        if len(bone.children) == 1:
            bone.tail = bone.children[0].head
        bone.roll += ROLL * number
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in own.pose.bones:
        bone.matrix_basis.identity()
    bpy.ops.export_scene.gltf(filepath=str(Path("own.glb").resolve()))
    write_crouch(Path("own.glb"), Path("own_crouches.glb"))
    import_file(bpy, Path("own_crouches.glb"))
    return measure(bpy, own, "crouch", Path("own_crouches.glb"))


def import_file(bpy: Any, path: Path) -> Any:
    """Import a file as the page says, and return its armature."""
    before = set(bpy.data.objects)
    if path.suffix == ".bvh":
        bpy.ops.import_anim.bvh(filepath=str(path.resolve()), update_scene_fps=True)
    else:
        bpy.ops.import_scene.gltf(filepath=str(path.resolve()), bone_heuristic="BLENDER")
    return next(each for each in bpy.data.objects if each not in before and each.type == "ARMATURE")


def measure(bpy: Any, armature: Any, action: str, path: Path) -> float:
    """Let an armature do an action, and measure the distance of its bones from the joints of the clip in a file."""
    clip = poise.load(path).clips[-1]
    data = armature.animation_data_create()
    data.action = bpy.data.actions[action]
    if getattr(data, "action_slot", 1) is None:  # Blender 4.4 and later
        data.action_slot = data.action.slots[0]
    if len(bpy.data.actions) > 1:  # bones without keys stay as the action before left them
        for bone in armature.pose.bones:
            bone.matrix_basis.identity()
    first, rate = float(data.action.frame_range[0]), bpy.context.scene.render.fps
    farthest = 0.0
    poses = clip.poses
    for number, time in enumerate(clip.times - clip.times[0]):
        frame = first + float(time) * rate
        bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
        bpy.context.view_layer.update()
        for bone in armature.pose.bones:
            x, y, z = poses.world[bone.name].positions[number]
            apart = np.array((armature.matrix_world @ bone.matrix).translation) - [x, -z, y]
            farthest = max(farthest, float(np.linalg.norm(apart)))
    return farthest


def write_crouch(path: Path, out: Path) -> None:
    """Let a character go down by a fifth of its hips' height on feet that stay, and save the way as a clip."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rig = poise.load(path)
        up = np.eye(3)["xyz".index((rig.skeleton.up or "y")[-1])]
        hips = rig.rest.world["hips"].positions
        feet = (rig.rest.world["leftFoot"].positions + rig.rest.world["rightFoot"].positions) / 2.0
        deep = 0.2 * float((hips - feet) @ up)
        way = hips - deep * np.linspace(0.0, 1.0, 9)[:, None] * up
        goals = [poise.Pin("leftFoot"), poise.Pin("rightFoot"), poise.Position("hips", way)]
        result = poise.solve(rig.rest, goals, free_root=True, floor="auto")
        poise.save(poise.Clip.at_rate(result.pose, 24, "crouch"), out)


def render(bpy: Any, path: Path) -> None:
    """Render the scene: the figure on a floor, seen from ahead and its left."""
    scene = bpy.context.scene
    bpy.ops.mesh.primitive_plane_add(size=40)
    floor = bpy.data.materials.new("floor")
    floor.use_nodes = True
    floor.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.25, 0.25, 0.25, 1.0)
    bpy.context.object.data.materials.append(floor)
    world = bpy.data.worlds.new("world")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.3, 0.33, 0.38, 1.0)
    scene.world = world
    bpy.ops.object.light_add(type="SUN", rotation=(0.9, 0.1, 0.5))
    bpy.context.object.data.energy, bpy.context.object.data.angle = 2.5, 0.05
    bpy.ops.object.camera_add(location=(2.0, -2.4, 1.3))
    camera = bpy.context.object
    camera.data.lens = 55
    bpy.ops.object.empty_add(location=(0.03, -0.12, 0.45))
    aim = camera.constraints.new("TRACK_TO")
    aim.target, aim.track_axis, aim.up_axis = bpy.context.object, "TRACK_NEGATIVE_Z", "UP_Y"
    scene.camera, scene.render.engine = camera, "CYCLES"
    scene.cycles.samples, scene.cycles.device = SAMPLES, "CPU"
    scene.render.resolution_x, scene.render.resolution_y = SIZE
    scene.view_settings.view_transform = "Standard"
    scene.render.image_settings.file_format = "WEBP" if path.suffix == ".webp" else "PNG"
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    sys.exit(main())

"""Every extra of pyproject.toml alone, in an otherwise empty environment, does what it is for.

The environment is a folder with links to what pip would install for `poise[EXTRA]`, found by following what each
distribution says that it needs, and a Python that sees nothing else. It takes no network and no time, and what an extra
forgets to ask for is not there.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.timeouts import PROCESS
from tests.workload import draw

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

START = """
import sys
sys.path[:0] = {paths}
import poise, warnings
from pathlib import Path
from poise.io import samples
warnings.simplefilter("error")
folder = Path({folder!r})
figure = poise.load(samples.path("humanoid.bvh"))
arm = poise.load(samples.path("arm.urdf"))
"""
MESHES = """
corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
(folder / "a.obj").write_bytes(b"# caf\\xe9\\no caf\\xe9\\nv 0 0 0\\nv 0 0 1\\nv 1 0 0\\nf 1 2 3\\n")
vertices = "".join(f"vertex {x} {y} {z}\\n" for x, y, z in corners)
facet = f"facet normal 0 0 1\\nouter loop\\n{vertices}endloop\\nendfacet\\n"
(folder / "a.stl").write_bytes(b"solid caf\\xe9\\n" + facet.encode() + b"endsolid caf\\xe9\\n")
"""
USES = {
    "": """
assert poise.solve(arm.rest, poise.Position("tool", (0.2, 0.2, 0.4))).reached
poise.save(figure, folder / "a.glb")
try:
    poise.Terrain.mesh(folder / "a.glb")
except poise.UnsupportedError as error:
    assert "pip install 'poise[terrain]'" in str(error)
else:
    raise AssertionError("trimesh is here")
(folder / "a.xml").write_text("<mujoco/>")
try:
    poise.load(folder / "a.xml")
except poise.FileError as error:
    assert "pip install 'poise[mjcf]'" in str(error)
else:
    raise AssertionError("MuJoCo is here")
(folder / "a.fbx").write_bytes(b"; FBX 7.4.0 project file")
try:
    poise.load(folder / "a.fbx")
except poise.FileError as error:
    assert "pip install 'poise[fbx]'" in str(error)
else:
    raise AssertionError("ufbx is here")
from poise.cli import main
sys.argv = ["poise", "info", str(folder / "a.glb")]
try:
    main()
except SystemExit as end:
    assert not end.code
""",
    "jit": """
import os
os.environ["POISE_KERNELS"] = "jit"
assert poise.solve(arm.rest, poise.Position("tool", (0.2, 0.2, 0.4))).reached
assert "numba" in sys.modules
""",
    "plot": """
from poise import plot
plot.draw_poses([("rest", figure.rest)], folder / "a.png")
plot.draw_poses([("rest", figure.rest)], folder / "a.svg")
assert (folder / "a.png").stat().st_size > 1000
""",
    "terrain": MESHES + """
import numpy as np
from PIL import Image
for name in ("a.obj", "a.stl"):
    assert poise.Terrain.mesh(folder / name).heights([0.2, 0.0, 0.2 if name == "a.obj" else -0.2]) == 0.0
import trimesh
trimesh.Trimesh([(0, 0, 0), (0, 0, 1), (1, 0, 0)], [(0, 1, 2)]).export(folder / "a.glb")
assert poise.Terrain.mesh(folder / "a.glb").heights([0.2, 0.0, 0.2]) == 0.0
Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4)).save(folder / "a.png")
assert poise.Terrain.heightmap(folder / "a.png").heights([0.0, 0.0, 0.0]) > 0.0
""",
    "view": MESHES + """
from poise.viewer.glb_assets import read_mesh
for name in ("a.obj", "a.stl"):
    assert len(read_mesh(folder / name)[0].faces) == 1
dae = '''<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#pa" count="3" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION"
source="#p"/></vertices><triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/>
</node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>'''
(folder / "a.dae").write_text(dae)
assert len(read_mesh(folder / "a.dae")[0].faces) == 1
from urllib.request import urlopen
with poise.view(arm, open_browser=False) as view:
    assert b"<html" in urlopen(view.url, timeout=60).read().lower()
""",
    "mjcf": """
(folder / "a.xml").write_text(
    '<mujoco><worldbody><body name="arm"><joint name="turn"/><site name="tip" pos="0 0 1"/></body></worldbody></mujoco>'
)
rig = poise.load(folder / "a.xml")
assert poise.solve(rig.rest, poise.Direction("tip", (0, 0, 1))).reached
""",
    "fbx": """
from importlib import util
spec = util.spec_from_file_location("fbx_samples", Path({tests!r}) / "io" / "fbx_samples.py")
samples = util.module_from_spec(spec)
spec.loader.exec_module(samples)
(folder / "a.fbx").write_bytes(samples.fbx([samples.node("a"), samples.node("b", "a", LclTranslation=(0, 1, 0))]))
assert poise.load(folder / "a.fbx").rest.world["b"].positions[1] == 1.0
""",
    "usd": """
(folder / "a.usda").write_text('''#usda 1.0
def Skeleton "L"
{
    uniform token[] joints = ["a"]
    uniform matrix4d[] restTransforms = [( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 2, 0, 1) )]
}
''')
assert poise.load(folder / "a.usda").rest.world["a"].positions[1] == 2.0
""",
    "jax": """
import jax  # its own warnings at import are not ours
result = poise.solve(arm.rest, poise.Position("tool", (0.2, 0.2, 0.4)), solver="autodiff")
assert result.reached
""",
    "all": """
import distributed, jax, matplotlib, mujoco, pxr, trimesh, ufbx, websockets
from collada import Collada
from PIL import Image
""",
    "cluster": """
from concurrent.futures import wait
from poise.batch.parallel_jobs import open_cluster
if __name__ == "__main__":  # workers import this
    with open_cluster("local", processes=1) as executor:
        assert [done.require() for done in poise.each([-1, 2], abs, executor=executor)] == [1, 2]
""",
}  # fmt: skip


def needed(requirements, found):
    """Names of all distributions that requirements ask for, directly or not, as they are installed here."""
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in ("", *found["extras"])):
            continue
        name = requirement.name.lower().replace("_", "-")
        if name not in found["names"]:
            found["names"].add(name)
            requested = {"names": found["names"], "extras": tuple(requirement.extras)}
            needed(metadata.requires(name) or [], requested)
    return found["names"]


def environment(folder, extra):
    """A folder with links to what `poise[extra]` needs, and nothing else."""
    requested = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else [])]
    folder.mkdir()
    for name in needed(requested, {"names": set(), "extras": ()}):
        distribution = metadata.distribution(name)
        tops = {file.parts[0] for file in distribution.files if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            place = Path(distribution.locate_file(top))
            if place.exists() and not (folder / top).exists():
                (folder / top).symlink_to(place)
    return folder


def test_every_extra_has_a_use():
    assert set(USES) == {"", *PROJECT["optional-dependencies"]}


@pytest.mark.parametrize("extra", draw("extra", USES, 3))
def test_alone(extra, tmp_path):
    try:
        packages = environment(tmp_path / "packages", extra)
    except metadata.PackageNotFoundError as missing:
        pytest.skip(f"{missing.name} is not installed here; scripts/test --all installs it")
    (tmp_path / "work").mkdir()
    start = START.format(paths=[str(ROOT / "src"), str(packages)], folder=str(tmp_path / "work"))
    use = USES[extra].replace("{tests!r}", repr(str(ROOT / "tests")))
    command = [sys.executable, "-I", "-S", "-c", start + use]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PROCESS, check=False)
    assert done.returncode == 0, done.stderr

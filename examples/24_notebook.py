"""What notebooks show of values, pictures and tables as HTML, written into a page."""

import sys
from operator import methodcaller
from pathlib import Path

import poise
from poise import samples

rig = poise.load(samples.path("humanoid.glb"))
goal = poise.Position("LeftHand", [0.3, 1.2, 0.4], root="LeftArm")
planted = poise.plant_feet(rig.clips[0], poise.Terrain.heightmap(samples.path("hills.npz")), rig=rig)
values = [rig, rig.clips[0], poise.solve(rig.rest, goal, solver="ccd", trace=True), planted.report]

call_as_notebooks = methodcaller("_repr_html_")  # what Jupyter calls for the last value of a cell
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
page = folder / "notebook.html"
page.write_text("<!doctype html><meta charset=utf-8>" + "".join(map(call_as_notebooks, values)))
print(f"{len(values)} values in {page.name}")  # 4 values in notebook.html

"""Comparison of methods on a rig: equal targets, and differences along a path."""

import sys
from pathlib import Path

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

rig = poise.load(samples.path("humanoid.glb"))
goal = poise.Position("LeftHand", [0.4, 1.2, 0.3], root="Spine")
classic = poise.CCD(order="tip-first", bend=0, finish=False, iterations=200)  # two frames of the path need 130
found = poise.compare(rig.rest, goal, solvers=["levenberg_marquardt", "ccd", classic], effort="quick")
print(found)
print(found.verdict)
found.save(out / "compared.html")

for method in found.compared:
    jerk = method.smooth("path").jerk
    print(f"{method.name}: jerk along the path {jerk:.2f}")
    assert jerk < 2.0  # NaN for a method that misses frames of the path
assert all(method.compute_solved_share() > 0.9 for method in found.compared)
assert not found.refused
assert (out / "compared.html").is_file()

"""Time to load a long BVH (10,000 frames x 96 channels, generated), and GLB, FBX and URDF files of the test data."""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import harness
import numpy as np

import poise

FRAMES = 10_000
JOINTS = 31  # six channels of the root and three of each other joint: 96
ROUNDS = 7
SEED = 11
GLB = Path("glb") / "knight_kaykit.glb"


def bvh_text(frames: int) -> str:
    """Make a BVH of a chain of joints with random angles, six decimals each."""
    lines = ["HIERARCHY"]
    for i in range(JOINTS):
        channels = "CHANNELS 3 Zrotation Xrotation Yrotation"
        if i == 0:
            channels = "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
        lines += [f"{'JOINT' if i else 'ROOT'} joint_{i}", "{", f"OFFSET 0.0 {float(i > 0)} 0.0", channels]
    lines += ["End Site", "{", "OFFSET 0.0 1.0 0.0", "}", *["}"] * JOINTS]
    lines += ["MOTION", f"Frames: {frames}", "Frame Time: 0.0083333"]
    values = np.random.default_rng(SEED).uniform(-180, 180, size=(frames, 3 * JOINTS + 3))
    lines += [" ".join(f"{value:.6f}" for value in row) for row in values]
    return "\n".join(lines) + "\n"


def load(path: Path) -> poise.Rig:
    """Load without showing what was repaired."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        return poise.load(path)


def row(what: str, path: Path) -> harness.Row:
    """Load a file several times, as it is after the imports are done; sampling all clips is timed apart."""
    rig = load(path)
    loads = [harness.timed(lambda: load(path))[1] for _ in range(ROUNDS)]
    _, sampling = harness.timed(lambda: [clip.poses.q for clip in load(path).clips])
    median, slow = harness.spread(loads, 1e-3)
    return {
        "file": what, "size [MB]": path.stat().st_size / 1e6, "clips": len(rig.clips), "load, median [ms]": median,
        "slowest [ms]": slow, "load and all poses [ms]": sampling * 1e3,
    }  # fmt: skip


def group_row(what: str, paths: list[Path]) -> harness.Row:
    """Load all files of a group several times; the times are those of one file on average."""
    rigs = [load(path) for path in paths]
    loads = [harness.timed(lambda: [load(path) for path in paths])[1] / len(paths) for _ in range(ROUNDS)]
    median, slow = harness.spread(loads, 1e-3)
    _, sampling = harness.timed(lambda: [clip.poses.q for path in paths for clip in load(path).clips])
    return {
        "file": f"{what}, each of {len(paths)}", "size [MB]": sum(path.stat().st_size for path in paths) / 1e6,
        "clips": sum(len(rig.clips) for rig in rigs), "load, median [ms]": median, "slowest [ms]": slow,
        "load and all poses [ms]": sampling * 1e3 / len(paths),
    }  # fmt: skip


def main(frames: int | None = None) -> int:
    """Run everything and write the table."""
    notes = [f"{ROUNDS} loads each of a file that the system has in its cache."]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.bvh"
        path.write_text(bvh_text(frames or FRAMES), encoding="ascii")
        rows = [row(f"BVH, {frames or FRAMES} frames x {3 * JOINTS + 3} channels", path)]
    data = harness.data_folder()
    if data is None:
        notes.append("GLB, FBX and URDF were left out, the test data is not here: set POISE_DATA.")
    else:
        rows += [row(f"GLB, {path.name}", path) for path in (data / GLB,) if path.is_file()]
        groups = {"FBX": sorted((data / "fbx").glob("*.fbx")), "URDF": sorted((data / "robots").glob("*.urdf"))}
        rows += [group_row(what, paths) for what, paths in groups.items() if paths]
    harness.report("loading", "Loading", rows, notes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

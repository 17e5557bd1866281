"""A BVH file takes the memory of its bytes, its numbers and its poses, each once."""

from __future__ import annotations

import tracemalloc

import numpy as np

import poise

FRAMES, JOINTS = 3000, 20


def write_chain(path):
    lines = ["HIERARCHY"]
    for i in range(JOINTS):
        places = "6 Xposition Yposition Zposition" if i == 0 else "3"
        lines += [f"{'JOINT' if i else 'ROOT'} joint_{i}", "{", "OFFSET 0 1 0"]
        lines += [f"CHANNELS {places} Zrotation Xrotation Yrotation"]
    lines += ["End Site", "{", "OFFSET 0 1 0", "}", *["}"] * JOINTS, "MOTION", f"Frames: {FRAMES}", "Frame Time: 0.01"]
    values = np.random.default_rng(1).uniform(-180, 180, size=(FRAMES, 3 * JOINTS + 3))
    path.write_text("\n".join([*lines, *(" ".join(f"{value:.6f}" for value in row) for row in values)]) + "\n")


def test_reading_needs_little_more_than_what_stays(tmp_path):
    path = tmp_path / "long.bvh"
    write_chain(path)
    poise.load(path)
    tracemalloc.start()
    rig = poise.load(path)
    stays, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    document, q = rig.skeleton.source, rig.clips[0].poses.q
    assert document.q is q
    parts = len(document.data) + document.values.nbytes + q.nbytes
    assert stays < 1.1 * parts
    assert peak < 1.5 * parts
    assert stays < 4.0 * document.values.nbytes

"""Where ufbx itself has the nodes of an FBX file at given times: `python fbx_oracle.py FILE OUT TIME ...`.

It runs in a process of its own, which ends at once: ufbx 0.0.5 can crash when objects of a scene are dropped.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import ufbx

kept = []


def keep(thing):
    """Keep an object of ufbx alive until the process ends."""
    kept.append(thing)
    return thing


def main(path, out, times):
    """Save the names of the nodes and their places (times, nodes, 3) in the first take."""
    scene = keep(
        ufbx.load_file(
            path,
            ignore_geometry=True,
            inherit_mode_handling=ufbx.InheritModeHandling.HELPER_NODES,
            scale_helper_name="",
            pivot_handling=ufbx.PivotHandling.ADJUST_TO_ROTATION_PIVOT,
        )
    )
    stack = keep(next(iter(keep(scene.anim_stacks))))
    places, names = [], []
    for time in times:
        moment = keep(ufbx.evaluate_scene(scene, keep(stack.anim), time + stack.time_begin))
        nodes = [keep(node) for node in keep(moment.nodes)]
        names = [node.name for node in nodes]
        places.append([tuple(tuple(node.node_to_world)[3]) for node in nodes])
    np.savez(out, names=np.array(names), places=np.array(places))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [float(word) for word in sys.argv[3:]])

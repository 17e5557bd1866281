"""Data model: skeleton, pose, clip, rig, limits, roles.

`skeleton` holds the joint tree with constant frames, `pose` a configuration q, `clip` poses over time, and `rig` the
content of a file. `kinematics` prepares forward kinematics for its kernel, `joints`, `joint_tree` and `mass` have
properties of joints and of their tree. `limits/`, `roles/` and `anatomy/` are packages of their own.

Each reader maps its joints to the frames of world_i = world_parent . A_i . J_i(q_i) . B_i:

    format  A                               J                                             B
    glTF    translation, rest rotation      ball; fixed for meshes and nodes above        scale, or the linear part
                                            the skeleton                                  of a `matrix`
    BVH     offset; the identity with       ball; free with position channels; End        identity
            position channels               Sites fixed
    ASF     end of the parent, rotation     ball; a hinge by its range with one           identity
            of the bone's own axes          degree of freedom; the root free
    URDF    origin                          hinge, slide, free                            identity
    MJCF    body and joint `pos`, `ref`     hinge, slide, ball, free: q is qpos           identity
            subtracted

A coupled joint (URDF mimic, MJCF equality) has no numbers in q: its value is ratio * leader + offset. A pose may have
translations and scales of single joints besides q. Clips animate them, forward kinematics and writers use them, and
solvers do not change them. `Skeleton.source` is the document of the file, into which `save()` writes its changes; it is
neither compared nor pickled. `Rig.rest` is the rest pose, `Rig.pose` the displayed pose of the file.
"""

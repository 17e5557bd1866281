"""Retargeting: the motion of one character on another one.

    source rig, clip -> Body --+
                               +-- Match -> rotations of the target's joints -> root -> planted feet -> report
    target rig       -> Body --+

`body.py` measures a character: its joints by role, its reference pose, and a frame for each segment. A segment is a
role and the next one of its limb. `reference_pose.py` chooses the pose that shows the body's directions, `bend_axes.py`
finds the axes of elbows and knees. `match.py` pairs the joints of two characters. `transfer.py` gives the segments of
the target the rotations of the source's; rest rotations never enter. `root_path.py` scales the way of the hips,
`step_width.py` the distance of feet across it, and `retarget.py` has the public call: it plants the source's contacts
on the target's ground. `hand_contact.py` brings hands together, `body_contact.py` keeps them out of the body,
`limb_ends.py` moves arms and legs for all three. `report.py` measures the result, `report_page.py` shows it.
`retargeter.py` has the call for live poses. `configurations.py` computes one frame or many; `detached_feet.py` puts
feet beside their legs where the shins end.
"""

"""Foot planting: terrain, contacts, legs, reports, for clips and live poses.

A clip and a terrain go in, poses with planted feet and a report come out. All lengths are in metres of a character
1.7 m tall, z up, and times in seconds, so units, axes and frame rates do not matter.

    clip -> Motion -> (in place) -> Soles, Contacts -> Plants -> Feet -> Turned -> poses
                                              terrain -> Footing --^--------^

`figure/` has the motion of the legs, `contact/` finds soles, contacts and plants. `found.py` analyses a clip without
the terrain; a clip that is already planted on it is not changed. `legs/` turns plants into targets of feet and pelvis
for every frame, and `trajectory/` corrects them by one least-squares problem over all frames. `stages.py` has the order
of these steps. `bearing/` handles hands, elbows, knees and hips on the ground, `strides/` changes the step length,
`report/` measures the result, `terrain/` is the ground itself.
`live.py` and `grounder.py` plant poses without a clip. Legs are solved in one kernel (kernels/ground/legs.py) from
world positions, independently of solve(): animated translations, control bones and separate feet are no special cases.
"""

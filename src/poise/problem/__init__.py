"""Goals, problems, and their packed arrays for the kernels.

`goals/` holds one class per goal. `problem.py` joins goals and start poses to a Problem; `dof_layout.py` lists the
degrees of freedom, `frame_packing.py` and `plan.py` pack them as arrays. `chain.py`, `arm_packing.py` and
`two_bone_limb.py` pack the special cases of chains, serial arms and two-bone limbs. `goal_errors.py` measures errors
by forward kinematics, `residuals.py` computes Jacobians, `reach_bounds.py` bounds the reach of goals, and
`feasibility.py` finds targets out of reach, conflicts of goals and open loops.

Targets are rows: the numbers of all goals side by side, in world axes and file units. A Plan is independent of the
start pose and cached with the skeleton, for goals of the same kinds. It has the moving joints (the union of the chains,
the goal's own joint for a rotation, coupled joints, a free root if requested) and the rigid frames between them, with
scale removed and lengths in a power of two of the rig's size. A start pose changes only the base frame and the values
of the moving joints; `kernels/kernel_coordinates.py` converts starts and targets into the plan and solutions back.
Joints that do not move are folded into the frames, with their animated translations and scales: start poses with equal
values of these share a plan. Non-uniform scale is replaced by the nearest rotation and factor, and `Plan.length_error`
bounds the error of lengths; answers are then corrected by solvers/base/answer_refinement.py.
"""

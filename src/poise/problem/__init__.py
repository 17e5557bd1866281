"""Goals, and problems packed for the kernels.

`goals/` holds one class per goal. `problem.py` joins goals and start poses to a Problem; `dof_layout.py` lists the
degrees of freedom, `tree_packing.py` and `plan.py` pack them as arrays. `arm.py`, `chain.py` and `limb.py` pack the
special cases of serial arms, chains and two-bone limbs. `goal_errors.py` measures errors by forward kinematics,
`residuals.py` computes Jacobians, and `feasibility.py` finds targets out of reach, conflicts of goals and open loops.
"""

"""Human-like poses: initialise the engine with closed-form stages.

`auto.py` chooses the solver of `solver="auto"`. `Natural` (natural.py) wraps the engine: `stages.py` poses a character
in stages, each a problem with some of the goals, and the engine starts from there for the remaining error.

1. Root: its own goals by the engine; about hips with a place alone the trunk bows (placed_hips.py). Without any goal,
   kernels/posture.py keeps it above the feet, and lowers and tilts it by the smallest share that brings the hands
   within reach.
2. Trunk: goals outside the limbs, by the engine without restarts; a head that looks by gaze.py.
3. Limbs (limbs.py): the kernel of `two_bone` with a pole for each tip with one target. The pole is the usual bend
   direction of the body, carried along by the smallest rotation; limbs with limits use the engine with a `Pole`.
4. Engine for all rows with a remaining error, at first with a fixed root rotation; then stage 3 again, kept only
   without loss.
5. Free limbs and heads (free_limbs.py): what no goal speaks of keeps its direction in the world.

A stage may fail without losing a goal. Rows of a batch are independent: one kernel call per stage.
"""

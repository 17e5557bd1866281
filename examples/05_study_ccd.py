"""CCD step by step: errors of the classic order and of the default."""

import poise

chain = poise.Skeleton.build(
    [*(f"bone{i}" for i in range(10)), "tip"],
    parents=range(-1, 10),
    kinds=[poise.Kind.BALL] * 10 + [poise.Kind.FIXED],
    offsets=[[0, 0, 0], *[[0, 1, 0]] * 10],
)
rest = poise.Pose(chain, chain.rest_q)
goal = poise.Position("tip", [4, 5, 3])
for solver in (poise.CCD(order="tip-first", bend=0, finish=False), poise.CCD()):
    result = poise.solve(rest, goal, solver=solver, tolerance=1e-3, trace=True)
    assert result.reached
    assert result.trace is not None
    print(f"{solver.order:10}  " + "  ".join(f"{error:.2g}" for error in result.trace.errors[:8]), "...", result)

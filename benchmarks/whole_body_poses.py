"""Whole figures and their limbs: whether the poses are those that people keep.

Every humanoid of the test data, copies of some in other guises, and robots: a squat, a hand to the floor beside the
foot, a chair, tiptoe; arms and legs brought to targets in front, beside and above; limbs stretched towards what is out
of reach; a face that looks at something. Judged by pose_evaluation.py, from forward kinematics alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import harness
import numpy as np
import pose_evaluation as judge
from character_rigs import SIDES, Body, Floats, bodies, unit
from numpy.typing import NDArray

import poise

LOWERED = 0.4  # of the leg: how deep a squat is
BEHIND = 0.25  # and nothing is farther behind than this share
LEVEL = 0.25  # legs are asked for places below the hip by at least about this share of the way to them
LEAN, ASTRAY, DEAR, TURNS, TWIST, LEAST, FACING = 20.0, 20.0, 1.5, 1.2, 5.0, 1e-6, 2.0  # what is asked
NAMED = ("figure", "pose", "limb", "first", "solver")
LATE = {"time", "batch", "cost"}  # of what is missed: what depends on the machine
CALLED = ("solve", "prepared", "batch")
MET, FLAT = 1e-3, 0.01  # of the leg, and radians: what counts as reached
BATCH, CALLS, ROUNDS = 1000, 12, 5
TARGETS, SWIVELS, DIRECTIONS, SEED = 1000, 200, 24, 20261124
FACTORS = (1.01, 1.5, 10.0)
SOLVERS = ("auto", "levenberg_marquardt", "fabrik", "ccd", "two_bone")
PARTS = {"arm": ("UpperArm", "LowerArm", "Hand"), "leg": ("UpperLeg", "LowerLeg", "Foot")}


class RequestedProblem(NamedTuple):
    """What a whole figure is asked for: joints that are held, and joints with the places they are brought to."""

    held: tuple[str, ...]
    places: dict[str, Floats]

    def goals(self, places: dict[str, Floats] | None = None) -> list[Any]:
        """The goals, perhaps with other places."""
        brought = [poise.Position(joint, place) for joint, place in (places or self.places).items()]
        return [*(poise.Pin(joint) for joint in self.held), *brought]


def feet(body: Body, part: str = "Foot") -> tuple[str, ...]:
    """The joints of both feet, or of their toes."""
    return tuple(body.joints[side + part] for side in SIDES)


def squat(body: Body, lowered: float = LOWERED) -> RequestedProblem:
    """Both feet held, the hips lowered."""
    return RequestedProblem(feet(body), {body.joints["hips"]: body.at("hips") - lowered * body.leg * body.up})


def floor(body: Body) -> RequestedProblem:
    """The left hand to the floor beside the left foot, as high as the ankle."""
    place = body.at("leftFoot") + 0.2 * body.leg * body.left
    return RequestedProblem(feet(body), {body.joints["leftHand"]: place})


def chair(body: Body) -> RequestedProblem:
    """The hips where thighs are level and shins upright."""
    thigh, shin = (
        float(np.linalg.norm(body.at(f"left{a}") - body.at(f"left{b}")))
        for a, b in (("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot"))
    )
    seat = body.middle("Foot") + shin * body.up - thigh * body.forward
    return RequestedProblem(feet(body), {body.joints["hips"]: seat + body.at("hips") - body.middle("UpperLeg")})


def tiptoe(body: Body) -> RequestedProblem:
    """The left hand straight up, higher than a flat foot allows; without toes as high as the arm reaches."""
    arm, has_toes = body.length("left", PARTS["arm"]), "leftToes" in body.joints and "rightToes" in body.joints
    foot = float(np.linalg.norm(body.at("leftToes") - body.at("leftFoot"))) if has_toes else 0.0
    place = body.at("leftUpperArm") + (0.98 * arm + 0.5 * foot) * body.up
    return RequestedProblem(feet(body, "Toes" if has_toes else "Foot"), {body.joints["leftHand"]: place})


POSES: dict[str, Callable[[Body], RequestedProblem]] = {
    "squat": squat, "hand to the floor": floor, "chair": chair, "tiptoe": tiptoe,
}  # fmt: skip


def whole(body: Body, what: str) -> harness.Row:
    """One figure in one pose."""
    requested = POSES[what](body)
    goals = requested.goals()
    try:
        result = poise.solve(body.rest, goals, free_root=True)
    except poise.PoiseError as error:
        return {"figure": body.name, "pose": what, "reached": False, "natural": str(error)}
    posed = judge.Posed(body, result.pose)
    warm = min(harness.timed(lambda: poise.solve(body.rest, goals, free_root=True))[1] for _ in range(ROUNDS))
    upright = (
        {"upright": forbidden(body, requested)} if body.is_robot and body.joints["hips"] in requested.places else {}
    )
    moving = sum(3 if result.pose.skeleton[joint].kind is poise.Kind.BALL else 1 for joint in result.joints) + 6
    return {
        "figure": body.name, "pose": what, "reached": is_met(body, requested, result.pose),
        "natural": bool(result.natural),
        "lean [deg]": float(posed.lean()), "to a side [deg]": float(posed.side_lean()),
        "knees astray [deg]": float(posed.knees_astray()), "off the support [feet]": float(posed.off_support()),
        "warm [ms]": 1e3 * warm, "batch [us]": in_a_batch(body, requested),
        "asked [us]": 30.0 * (moving / 60) ** 2, **upright,
    }  # fmt: skip


def forbidden(body: Body, requested: RequestedProblem) -> str:
    """What keeps a robot from a pose with an upright torso, which it is not given by itself: its limits, or nothing."""
    goals = [*requested.goals(), poise.Pin(body.joints["hips"], position=False)]
    result = poise.solve(body.rest, goals, free_root=True)
    if result.reached:
        return (
            f"reached with the hips kept upright, torso {float(judge.Posed(body, result.pose).lean()):.0f} degrees off"
        )
    free = poise.Pose(body.rest.skeleton.with_limits(dict.fromkeys(body.rest.skeleton.names)), body.rest.q)
    without = poise.solve(free, goals, free_root=True).reached
    return f"hips kept upright: {result.message()}" + ("" if without else "; missed without limits, too")


def is_met(body: Body, requested: RequestedProblem, pose: poise.Pose) -> bool:
    """Whether all is where it was asked to be, and what is held was not turned."""
    roles = {joint: role for role, joint in body.joints.items()}
    posed, rest = judge.Posed(body, pose), body.rest.world
    places = requested.places | {joint: rest[joint].positions for joint in requested.held}
    near = all(np.linalg.norm(pose.world[joint].positions - at) <= MET * body.leg for joint, at in places.items())
    return near and all(
        2 * np.linalg.norm(posed.turned(roles.get(joint, ""))[..., 1:]) <= FLAT for joint in requested.held
    )


def in_a_batch(body: Body, requested: RequestedProblem) -> float:
    """Microseconds a pose of a batch, whose places lie around what is asked."""
    shifts = np.random.default_rng(SEED).uniform(-0.03, 0.0, (BATCH, 1)) * body.leg * body.up
    goals = requested.goals({joint: place + shifts for joint, place in requested.places.items()})
    return harness.quickest(lambda: poise.solve(body.rest, goals, free_root=True), 2)[1] / BATCH * 1e6


def zones(body: Body, side: str, limb: str) -> dict[str, Floats]:
    """The middles of three cones of directions from a shoulder or hip, in which targets are."""
    ahead, up, out = body.forward, body.up, body.outward(side)
    if limb == "arm":
        return {"in front": ahead, "beside": out, "above": unit(up + 0.3 * ahead)}
    return {"in front": unit(ahead - up), "beside": unit(out - 1.5 * up), "above": unit(0.2 * ahead - up)}


def targets_of(body: Body, side: str, limb: str, count: int) -> Floats:
    """Places that a limb reaches, in front, beside and above in turn."""
    rng = np.random.default_rng(SEED)
    middles = list(zones(body, side, limb).values())
    ways = unit(np.array([middles[i % 3] for i in range(count)]) + 0.35 * rng.normal(size=(count, 3)))
    not_behind = np.maximum(-BEHIND - ways @ body.forward, 0.0)[:, None] * body.forward
    ways = unit(ways + not_behind)  # what is behind the body is no place in front, beside or above
    if limb == "leg":  # a leg that is raised above level bends no knee forward
        ways = unit(ways - np.maximum(ways @ body.up + LEVEL, 0.0)[:, None] * body.up)
    share = rng.uniform(0.4, 0.7 if limb == "leg" else 0.97, (count, 1)) + (0.27 if limb == "leg" else 0.0)
    share[2::3] *= 0.75 if limb == "leg" else 1.0  # a foot above where it was
    return body.at(side + PARTS[limb][0]) + share * body.length(side, PARTS[limb]) * ways


def is_kept(body: Body, limb: str, first: Floats, middle: Floats, tip: Floats) -> NDArray[np.bool_]:
    """Whether a knee is in front of the line from hip to foot, or an elbow not above both shoulder and hand."""
    if limb == "leg":
        return judge.off_line(first, middle, tip) @ body.forward >= -1e-9 * body.leg
    return middle @ body.up <= np.maximum(first @ body.up, tip @ body.up) + 1e-9 * body.leg


def limb(body: Body, side: str, what: str, count: int) -> harness.Row:
    """One limb of a figure, brought to its targets."""
    names = [body.joints[side + part] for part in PARTS[what]]
    points, tip = targets_of(body, side, what, count), names[2]
    first, middle, last = (body.rest.world[name].positions for name in names)
    upper, lower = (float(np.linalg.norm(b - a)) for a, b in ((first, middle), (middle, last)))
    possible = is_kept(body, what, first, judge.circle(first, points, upper, lower, SWIVELS), points).any(axis=0)
    found, engine = (poise.solve(body.rest, poise.Position(tip, points), natural=how) for how in (None, False))
    kept, plain = (
        is_kept(body, what, *(result.pose.world[name].positions for name in names)) for result in (found, engine)
    )
    near, plainly_near = (
        np.linalg.norm(one.pose.world[tip].positions - points, axis=-1) <= MET * (upper + lower)
        for one in (found, engine)
    )
    collar = body.joints.get(side + "Shoulder") if what == "arm" else None
    turned = np.median(judge.turns_and_twists(body.rest, found.pose, [collar, names[0]])[0][:, 0]) if collar else 0.0
    return {
        "figure": body.name, "limb": f"{side} {what}", "natural": bool(found.natural),
        "as people do [%]": 100 * float(kept[possible].mean()), "the engine [%]": 100 * float(plain[possible].mean()),
        "collar bone, median [deg]": float(turned), "reached [%]": 100 * float(near.mean()),
        "the engine reached [%]": 100 * float(plainly_near.mean()), **ratios(body, tip, points),
    }  # fmt: skip


def ratios(body: Body, tip: str, points: Floats) -> dict[str, float]:
    """What natural poses take, as a multiple of what is taken without them: a call, a prepared one, a batch."""
    taken: dict[str, list[float]] = {call: [] for call in CALLED}
    for natural in (None, False):

        def once(point: Floats, how: Any = natural) -> Any:
            return poise.solve(body.rest, poise.Position(tip, point), natural=how)

        ready = poise.prepare(body.rest, poise.Position(tip, points[0]), natural=natural)
        for what, call in (("solve", once), ("prepared", ready)):
            call(points[0])
            each = [min(harness.timed(lambda at=at, call=call: call(at))[1] for _ in range(3)) for at in points[:CALLS]]
            taken[what].append(float(np.median(each)))
        taken["batch"].append(harness.quickest(lambda once=once: once(points), 3)[1])
    return {f"{what}, times": of_natural / plain for what, (of_natural, plain) in taken.items()}


def beyond(body: Body, side: str, what: str, solver: str) -> list[harness.Row]:
    """One limb, stretched towards what is out of its reach: alone, and with what carries it."""
    names = [body.joints[side + part] for part in PARTS[what]]
    chains = dict.fromkeys(tuple(body.rest.skeleton.chain(root, names[2])) for root in (None, names[0]))
    able = [chain for chain in chains if solver != "two_bone" or chain[0] == names[0]]
    return [stretched(body, f"{side} {what}", [*chain, names[2]], solver) for chain in able]


def stretched(body: Body, limb: str, chain: list[str], solver: str) -> harness.Row:
    """One chain, given with the tip, and one solver."""
    chain = list(dict.fromkeys(chain))
    points = np.array([body.rest.world[name].positions for name in chain])
    reach = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    ways = unit(np.random.default_rng(SEED).normal(size=(DIRECTIONS, 3)))
    targets = np.concatenate([points[0] + factor * reach * ways for factor in FACTORS])
    found = {"figure": body.name, "limb": limb, "first": chain[0], "solver": solver}
    try:
        result = poise.solve(body.rest, poise.Position(chain[-1], targets, root=chain[0]), solver=solver)
    except poise.PoiseError as error:
        return found | {"refused": str(error)}
    turns, twists = judge.turns_and_twists(body.rest, result.pose, chain)
    allowed = np.maximum(judge.straight_turns(body.rest, chain, targets).sum(axis=1), 1.0)
    left = np.linalg.norm(result.pose.world[chain[-1]].positions - targets, axis=1)
    least = np.linalg.norm(targets - points[0], axis=1) - reach
    return found | {
        "turns, times": float((turns.sum(axis=1) / allowed).max()), "twist [deg]": float(twists.max()),
        "above the least [of the reach]": float((left - least).max() / reach),
    }  # fmt: skip


def looks(body: Body) -> harness.Row:
    """A face turned to what is ahead, aside, above and below."""
    head, worst = body.at("head"), 0.0
    for aside, above in ((0, 0), (0.5, 0), (-0.5, 0.2), (0.3, -0.3)):
        way = unit(body.forward + aside * body.left + above * body.up)
        target = head + 3 * body.leg * way
        pose = poise.solve(body.rest, poise.LookAt(body.joints["head"], target)).pose
        posed = judge.Posed(body, pose)
        face = judge.rotations.rotate(posed.turned("head"), body.forward)
        worst = max(worst, float(judge.degrees(face, target - posed.at("head"))))
    return {"figure": body.name, "face off [deg]": worst}


def misses(row: harness.Row) -> str:
    """What a row falls short of, in words; nothing where it is as asked."""
    message_text = [
        ("error", "refused" in row), ("reached", not row.get("reached", True)),
        ("lean", row.get("pose") in ("squat", "chair") and row.get("lean [deg]", 0.0) > LEAN),
        ("knees", row.get("knees astray [deg]", 0.0) > ASTRAY),
        ("balance", row.get("pose") == "squat" and row.get("off the support [feet]", 0.0) > 0.0),
        ("side lean", row.get("pose") == "hand to the floor" and row.get("to a side [deg]", 0.0) > LEAN),
        ("time", row.get("warm [ms]", 0.0) > 1.0), ("batch", row.get("batch [us]", 0.0) > row.get("asked [us]", 0.0)),
        ("side", row.get("as people do [%]", 100.0) < 100.0),
        ("collar bone", row.get("collar bone, median [deg]", 0.0) > 15.0),
        ("less reached", row.get("reached [%]", 0.0) < row.get("the engine reached [%]", 0.0)),
        ("cost", any(row.get(f"{call}, times", 0.0) > DEAR for call in CALLED)),
        ("turns", row.get("turns, times", 0.0) > TURNS), ("twist", row.get("twist [deg]", 0.0) > TWIST),
        ("least", abs(row.get("above the least [of the reach]", 0.0)) > LEAST),
        ("face", row.get("face off [deg]", 0.0) > FACING),
    ]  # fmt: skip
    return ", ".join(what for what, is_so in message_text if is_so)


def summed(rows: Sequence[harness.Row], by: Sequence[str]) -> list[harness.Row]:
    """A line for each kind of row: how many there are, how many are as asked, the mean and the worst of each number."""
    found: list[harness.Row] = []
    for kind in dict.fromkeys(tuple(row.get(key) for key in by) for row in rows):
        own = [row for row in rows if tuple(row.get(key) for key in by) == kind]
        line: harness.Row = dict(zip(by, kind, strict=True)) | {"figures": len(own)}
        message_text = [set(misses(row).split(", ")) - {""} for row in own]
        line["as asked"] = sum(what <= LATE for what in message_text)
        if any(key in row for row in own for key in ("warm [ms]", "solve, times")):
            line["in time"] = sum(not what & LATE for what in message_text)
        for key in dict.fromkeys(key for row in own for key, value in row.items() if isinstance(value, float)):
            values = [row[key] for row in own if key in row]
            low = key.endswith("[%]")
            line[f"{key}: median, {'least' if low else 'most'}"] = (
                f"{np.median(values):.3g}, {(min if low else max)(values):.3g}"
            )
        found.append(line)
    return found


def run(figures: Sequence[Body], proofs: Sequence[int], count: int) -> dict[int, list[harness.Row]]:
    """All rows of each proof."""
    found: dict[int, list[harness.Row]] = {proof: [] for proof in proofs}
    for body in figures:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.PoiseWarning)
            if 1 in found:
                found[1] += [whole(body, what) for what in POSES]
            if not body.is_robot:
                limbs = [(side, what) for side in SIDES for what in PARTS]
                if 2 in found:
                    found[2] += [limb(body, side, what, count) for side, what in limbs]
                if 3 in found:
                    found[3] += [row for solver in SOLVERS for one in limbs for row in beyond(body, *one, solver)]
                if 4 in found:
                    found[4].append(looks(body))
        print(f"{body.name}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
    return found


TITLES = {
    1: ("Poses of whole figures", ("pose",)), 2: ("Arms and legs", ("limb",)),
    3: ("Out of reach", ("solver",)), 4: ("Where the face looks", ()),
}  # fmt: skip
NOTE = (
    "As asked: all is reached. Whole figures: the torso within 20 degrees of upright in the squat and the chair, to a "
    "side in the hand to the floor; a bent knee's plane within 20 degrees of its foot; the centre of mass (de Leva "
    "1996) above the feet in the squat; 1 ms a pose, in a batch of 1,000 30 us x (moving degrees of freedom / 60)^2. "
    "Arms and legs: no knee behind the line from hip to foot, no elbow above both shoulder and hand, wherever one of "
    "200 swivels allows it; the collar bone turned by at most 15 degrees; nothing less reached than without natural "
    "poses, at most 1.5 times the time. Out of reach by 1.01, 1.5 and 10 times: turns at most 1.2 times those of the "
    "straight stretch, twist at most 5 degrees, the least error within 1e-6 of the reach. Faces within 2 degrees. "
    "Robots and a figure whose roles are not sure have no natural poses; what robots do with their hips kept as "
    "they are turned at rest is said, and which declared limits forbid it. The two numbers of a column are the median "
    "and the worst."
)


def fallen_short(rows: Sequence[harness.Row]) -> str:
    """What misses how often, and on which figures, apart from times, which depend on the machine."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for what in misses(row).split(", "):
            if what and what not in LATE:
                kind = f"{row.get('pose') or row.get('limb', '')}: {what}"
                found.setdefault(kind, []).append(str(row["figure"]))
    lines = [f"- {kind}: {', '.join(dict.fromkeys(who))}" for kind, who in found.items()]
    lines += [f"- {row['pose']}: {row['figure']}: {row['upright']}" for row in rows if "upright" in row]
    return "\n".join(lines)


def reported(found: dict[int, list[harness.Row]]) -> None:
    """Print the tables and write them, every row to the JSON."""
    parts: list[str] = []
    for proof, rows in found.items():
        title, by = TITLES[proof]
        parts += [f"### {title}", harness.table(summed(rows, by)), fallen_short(rows)]
    harness.report("whole_body_poses", "Whole figures and their limbs", [], [*filter(None, parts), NOTE])
    path = harness.RESULTS / "whole_body_poses.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["rows"] = [{"proof": TITLES[proof][0], **row} for proof, rows in found.items() for row in rows]
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Measure, print the tables and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--proofs", default="1234")
    parser.add_argument("--targets", type=int, default=TARGETS, help="of each limb")
    parser.add_argument("--figures", default="", help="only those with this in their names; nothing is written then")
    options, _ = parser.parse_known_args()
    folder = harness.data_folder()
    if folder is None:
        print("whole_body_poses needs the test data: set POISE_DATA")
        return 1
    figures = [body for body in bodies(folder) if options.figures in body.name]
    found = run(figures, [int(proof) for proof in options.proofs], options.targets)
    if not options.figures and options.proofs == "1234":
        reported(found)
        return 0
    for proof, rows in found.items():
        print(harness.table(summed(rows, TITLES[proof][1])))
        print(*(f"{[row.get(key, '') for key in NAMED]}: {misses(row)}" for row in rows if misses(row)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

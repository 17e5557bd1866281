"""The benchmarks' own correctness: what they judge with, and that they run. Times are never asserted."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.maths import rotations
from tests.conftest import WANT

FOLDER = Path(__file__).parent.parent.parent / "benchmarks"


def test_five_axis_judges_and_keeps_ranges():
    import five_axis

    rows = five_axis.run(60)
    assert all(row["worst range violation [rad]"] <= 1e-9 for row in rows)
    reached = {(row["goal"], row["method"]): row["reached [%]"] for row in rows}
    position = {method: share for (goal, method), share in reached.items() if goal == "position"}
    pointing = {method: share for (goal, method), share in reached.items() if goal == "position and direction"}
    assert set(position) == set(five_axis.SOLVERS)
    assert set(pointing) == set(five_axis.POINTING)
    assert position["ccd"] >= position["ccd, project, classic form"]
    assert position["auto"] == position["anneal around ccd"] == pointing["auto"] == 100
    assert pointing["ccd"] > pointing["ccd, no finish"]


def test_loops_are_judged_by_their_gaps():
    import loops

    rows = loops.run(40)
    assert [row["model"] for row in rows] == list(loops.loop_models.MODELS)
    assert all(row["reached [%]"] == 100 and row["reached with a gap above 1e-9"] == 0 for row in rows)


def test_limited_evidence_counts_what_a_search_without_limits_contradicts(monkeypatch):
    import limited_evidence

    arm = poise.load(poise.sample("arm"))
    goal = limited_evidence.places(arm.skeleton, "tool", 1.1, 30)
    row = limited_evidence.run("arm", arm, goal)
    assert row["limited, and none found without limits"] == 0
    assert row["places"] == sum(row[str(status)] for status in poise.Status if str(status) in row) == 30
    monkeypatch.setattr(poise.Result, "codes", np.full(30, int(poise.Status.limited)), raising=False)
    assert limited_evidence.run("arm", arm, goal)["limited, and none found without limits"] > 0


def test_five_axis_arm_is_the_demos():
    import five_axis

    skeleton = five_axis.arm()
    zero = poise.Pose(skeleton, np.zeros(5)).world
    np.testing.assert_allclose(zero["tip"].positions, np.sum(five_axis._OFFSETS, axis=0), atol=1e-12)
    assert np.degrees([limit.high for limit in skeleton.limits[:5]]) == pytest.approx(five_axis._DEGREES)
    np.testing.assert_array_equal(five_axis.targets(skeleton, 5)[0], five_axis.targets(skeleton, 5)[0])


def test_the_chain_judge_agrees_with_the_library():
    import classic_ccd

    start = classic_ccd.chain(10, 1.5)
    q = rotations.normalise(np.random.default_rng(3).normal(size=(7, 10, 4)))
    pose = poise.Pose(start.skeleton, q.reshape(7, 40))
    np.testing.assert_allclose(classic_ccd.tips(3.0 * q, 1.5), pose.world["tip"].positions, atol=1e-12)
    np.testing.assert_allclose(classic_ccd.tips(q * 0.0, 1.5)[0], [0, 15, 0])  # a zero quaternion turns nothing


@pytest.mark.usefixtures("data")
def test_classic_ccd_runs_and_writes_its_table(monkeypatch, tmp_path):
    import classic_ccd

    def no_three(*_):
        raise RuntimeError("not asked for")

    monkeypatch.setattr(classic_ccd, "solve_with_three", no_three)
    assert classic_ccd.main(limit=20) == 0
    text = (tmp_path / "results" / "classic_ccd.md").read_text()
    assert "three.js left out: not asked for" in text
    assert text.count("poise CCD()") == 5


@pytest.mark.usefixtures("data")
def test_chain10_has_rows_for_every_case_and_set(monkeypatch, tmp_path):
    import chain10

    cases = [case for case in chain10.CASES if case[1] != "autodiff"]  # JAX takes its time to compile
    monkeypatch.setattr(chain10, "CASES", (*cases, ("one more", "ccd", {"iterations": 0})))
    assert chain10.main(limit=4) == 0
    lines = (tmp_path / "results" / "chain10.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| ")]
    assert len(rows) == 1 + 5 * (len(cases) + 1)
    reached = {(row[1], row[2]): row[3] for row in rows}
    assert reached["auto", "edge"] == reached["ccd", "path"] == "100"
    assert reached["one more", "ball"] == "0"


def test_real_poses_are_found_again(data):
    import real_poses

    rows = real_poses.run(data, ["walk_mass"], "one")
    mean, clip = rows[0], rows[len(rows) // 2]
    assert mean["poses"] == clip["poses"] == "natural"
    assert {**mean, "clip": ""} == {**clip, "clip": ""} | {what: mean[what] for what in mean if "us" in what} | {
        "clip": ""
    }
    assert all(one["reached [%]"] == 100 for one in rows)
    engine = next(one for one in rows if one["poses"] != "natural")
    assert mean["elbows"] < engine["elbows"]
    assert not real_poses.misses(mean)
    assert real_poses.misses(mean | {"knees": 3.6})


def test_figures_that_shear_are_judged_by_matrices(data):
    import sheared

    rows, figures = sheared.run([data / "glb/human_female_m2m.glb", data / "glb/rigged_simple.gltf"], 20)
    assert figures == 1
    assert {row["chain"] for row in rows} == {what for _, what, _ in sheared.LIMBS}
    assert all(row["reached [%]"] == 100 and row["lengths off by, most [%]"] > 1 for row in rows)


def test_figures_are_posed_and_judged(data):
    import whole_body_poses as figures
    from character_rigs import body_of, in_another_guise, loaded

    rig = loaded(data / "glb/mixamo_human_makehuman.glb")
    guise = in_another_guise(rig, up="z", scale=100.0)
    two = [body for body in (body_of("one", rig), body_of("other", guise)) if body is not None]
    found = figures.run(two, [1, 2, 3, 4], 12)
    assert [len(found[proof]) for proof in (1, 2, 3, 4)] == [8, 8, 56, 2]
    late = {"time", "batch", "cost", "", "least", "turns", "twist"}  # collar bones stay in their range out of reach
    assert {what for rows in found.values() for row in rows for what in figures.misses(row).split(", ")} <= late
    robot = body_of("g1", loaded(data / "urdf/g1_29dof.urdf"))
    assert robot is not None
    assert "left_ankle_pitch_joint at its lowest" in figures.whole(robot, "squat")["upright"]


def test_figures_judge_sees_what_is_wrong():
    import pose_evaluation as judge
    from character_rigs import body_of

    rig = poise.load(poise.samples.path("humanoid.glb"))
    body = body_of("sample", rig)
    assert body is not None
    assert judge.Posed(body, rig.rest).lean() < 1
    hips = rig.rest.world["Hips"]
    for angle, axis in ((50.0, body.left), (-35.0, body.forward)):
        turn = rotations.multiply(rotations.about(axis, np.radians(angle)), hips.rotations)
        place = poise.Place("Hips", hips.positions, turn)
        tilted = judge.Posed(body, poise.solve(rig.rest, place, free_root=True, natural=False).pose)
        assert tilted.lean() == pytest.approx(abs(angle), abs=1)
        assert tilted.side_lean() == pytest.approx(35 if angle < 0 else 0, abs=1)
    points = judge.circle(np.zeros(3), np.array([[0.5, 0.2, 0.1], [0.0, -0.8, 0.0]]), 0.5, 0.45, 16)
    np.testing.assert_allclose(np.linalg.norm(points, axis=-1), 0.5, rtol=1e-12)
    reach = np.linalg.norm(points - np.array([[0.5, 0.2, 0.1], [0.0, -0.8, 0.0]]), axis=-1)
    np.testing.assert_allclose(reach, 0.45, rtol=1e-12)


@pytest.mark.usefixtures("data")
def test_methods_are_judged_and_compared(monkeypatch, tmp_path):
    import methods

    monkeypatch.setattr(methods.solvers, "names", lambda: ("damped_least_squares", "fabrik", "two_bone"))
    assert methods.main(limit=4, with_peers=False) == 0
    text = (tmp_path / "results" / "methods.md").read_text()
    assert text.count("| damped_least_squares | 100 | 4 |") == text.count("| fabrik | 100 | 4 |") == 2
    assert "two_bone |" not in text  # it has said why
    peer = methods.Measured("ikpy", np.array([True, True]), np.nan, 30.0)
    own = methods.Measured("pseudo_inverse", np.array([True, False, True, True]), 3.0, 9.0)
    assert methods.compared(peer, own) == "8 pseudo_inverse (solves fewer)"
    assert methods.lines("x", [own], [peer], methods.LIKE)[1]["times slower than"].startswith("8 pseudo_inverse")


@pytest.mark.usefixtures("data")
def test_a_peer_that_cannot_be_run_is_a_sentence():
    import methods

    notes = []
    assert methods.run_all([lambda: methods.answer_of("it", ["no such program"], {})], notes) == []
    assert notes[0].startswith("left out: it: ")
    with pytest.raises(RuntimeError, match="it: SystemExit|it: no reason|it: 7"):
        methods.answer_of("it", [sys.executable, "-c", "import sys; sys.exit('7')"], {})


@pytest.mark.usefixtures("data")
def test_the_panda_is_judged_by_its_own_kinematics(monkeypatch, tmp_path):
    import methods_panda

    monkeypatch.setenv("POISE_BENCH_CACHE", str(tmp_path))
    robot = methods_panda.panda()
    chain = methods_panda.links(robot)
    q = np.random.default_rng(0).uniform(robot.lower, robot.upper, size=(5, 7))
    ours = poise.Pose(poise.load(robot.urdf).skeleton, q).world[robot.tip].affine
    targets = methods_panda.tips(chain, q)
    np.testing.assert_allclose(targets[:, :3], ours, atol=1e-12)
    assert methods_panda.solved(robot, chain, q, targets, 1e-9).all()
    assert not methods_panda.solved(robot, chain, q + 2e-6, targets, 1e-9).any()
    assert not methods_panda.solved(robot, chain, q * np.nan, targets, 1e-9).any()
    around = q + 2 * np.pi * np.eye(7)[0]
    assert not methods_panda.solved(robot, chain, around, targets, 1e-9).any()  # the place, not the limits


@pytest.mark.usefixtures("data")
def test_the_panda_table_has_what_solves_places(monkeypatch, tmp_path):
    import methods_panda

    monkeypatch.setenv("POISE_BENCH_CACHE", str(tmp_path))
    names = ("fabrik", "levenberg_marquardt", "pseudo_inverse")
    monkeypatch.setattr(methods_panda.methods.solvers, "names", lambda: names)
    assert methods_panda.main(limit=20, with_peers=False) == 0
    text = (tmp_path / "results" / "methods_panda.md").read_text()
    assert "| levenberg_marquardt | 100 | 20 |" in text
    assert "| pseudo_inverse | 100 | 20 |" in text
    assert "fabrik |" not in text


def test_the_baseline_does_the_same_work():
    import sweep_cost

    try:
        sweep_cost.compiled()
    except RuntimeError as error:
        pytest.skip(str(error))
    wanted = sweep_cost.targets()[:40]
    for kind in (poise.Kind.BALL, poise.Kind.HINGE):
        row = sweep_cost.measure(kind, wanted, 1)[0]
        assert row["order"] == "tip-first"
        assert row["left, ours (median)"] == pytest.approx(row["left, C++"], rel=1e-2, abs=1e-8)


def test_a_missing_compiler_is_a_sentence(monkeypatch, capsys):
    import sweep_cost

    monkeypatch.setattr(sweep_cost.shutil, "which", lambda _: None)
    assert sweep_cost.main(1) == 0
    assert "no C++ compiler" in capsys.readouterr().err


def test_the_generated_bvh_has_96_channels(tmp_path):
    import loading

    path = tmp_path / "long.bvh"
    path.write_text(loading.bvh_text(3))
    rig = poise.load(path)
    assert len(rig.clips[0]) == 3
    assert len(path.read_text().splitlines()[-1].split()) == 96


@pytest.mark.long
def test_the_arm_baseline_agrees_and_a_wrong_one_is_reported():
    import arm_cpp_baseline

    from poise.kernels.lanes import SCALAR

    try:
        arm = arm_cpp_baseline.case()
        libraries = arm_cpp_baseline.libraries(arm.arm.link_count)
    except RuntimeError as error:
        pytest.skip(str(error))
    contests = arm_cpp_baseline.kernel_contests(arm, libraries, SCALAR)  # compares all answers
    assert [set(contest) & {"ours", "tree"} for contest in contests] == [{"ours"}, {"ours"}, {"tree"}]
    longer = arm.arm.links.copy()
    longer[2, 0] += 1e-6
    moved = arm._replace(arm=arm.arm._replace(links=longer))
    with pytest.raises(RuntimeError, match="tree FK: the baseline's answers are off"):
        arm_cpp_baseline.kernel_contests(moved, libraries, SCALAR)  # the tree still has the links as they were
    contest, done = arm_cpp_baseline.batch_contest(arm, libraries, 4, 60)
    for name, call in contest.items():
        call()
        if name != "public":
            reached, iterations = done[name]()
            assert np.mean(reached) == 1
            assert 3 < np.mean(iterations) < 40


def test_full_body_meets_its_goals_and_judges():
    import full_body

    for skeleton in full_body.skeletons().values():
        row = full_body.in_a_batch(skeleton, 24, 1)
        assert row["solved [%]"] == 100
        poses = full_body.random_poses(skeleton, 24)
        assert full_body.solved(poses, poses) == 100
        turned = poses.q.copy()
        turned[:12, 3:7] = rotations.multiply(turned[:12, 3:7], rotations.about(np.array([0.0, 0, 1]), 1e-5))
        assert full_body.solved(poses.with_q(turned), poses) == 50
    assert full_body.one_by_one(skeleton, 3)["solved [%]"] == 100
    assert full_body.dofs(skeleton)[0] == 66


def test_branches_counts_modulo_turns(monkeypatch):
    import multiple_solutions as branches

    try:
        judge = branches.Judge(3)
    except OSError as error:
        pytest.skip(f"{WANT}: {error}")
    ours = branches.our_branches(judge, None)
    assert all(2 <= len(found) <= 8 for found in ours.of)
    turned = branches.Branches([judge.correct(k, found + 2 * np.pi) for k, found in enumerate(ours.of)], ours.seconds)
    assert [len(found) for found in turned.of] == [len(found) for found in ours.of]
    assert not branches.missing(turned, ours)
    fewer = branches.Branches([found[1:] for found in ours.of], ours.seconds)
    assert len(branches.missing(ours, fewer)) == 3
    assert not len(judge.correct(0, ours.of[0] + [0, 0, 0, 0, 0, 1e-3]))  # these do not reach
    assert not len(judge.correct(0, np.zeros((0, 6))))

    def no_peer(*_):
        raise RuntimeError("not asked for")

    monkeypatch.setattr(branches, "peers_branches", no_peer)
    assert branches.measure(1, (None,)) == ([], [f"{name} left out: not asked for" for name in branches.PEERS])


@pytest.mark.long
def test_start_up_tells_numba_and_failures():
    import start_up

    assert not start_up.fresh(start_up.IMPORT).numba
    assert start_up.fresh("import numba").numba
    assert start_up.version().seconds > 0
    with pytest.raises(RuntimeError, match="AssertionError"):
        start_up.fresh("assert False")


def test_calls_are_measured_beside_another_checkout(monkeypatch, tmp_path, capsys):
    import calls

    counts = []
    case = calls.Case("some call", lambda: counts.append(1), count=4)
    monkeypatch.setattr(calls, "PARTS", (lambda: iter([case, calls.Case("other call", lambda: None)]),))
    monkeypatch.setattr(calls, "SECONDS", 1e-5)
    assert set(calls.measure_rows(["some"])) == {"some call"}
    assert len(counts) > calls.REPEATS
    here = str(Path(poise.__file__).parent.parent)
    times = {here: iter([2.0, 9.0, 1.0]), "other/src": iter([6.0, 5.0, 60.0])}
    monkeypatch.setattr(calls, "run_process", lambda source, _: {"some call": next(times[source])})
    monkeypatch.setattr(calls.harness, "RESULTS", tmp_path)
    assert calls.main(["--beside", "other/src", "--rounds", "3"]) == 0
    assert "| some call | 2 | 6 | 3 |" in capsys.readouterr().out
    assert (tmp_path / "calls.json").is_file()


@pytest.mark.parametrize("part", ["list_values", "list_results", "list_solves", "list_files"])
@pytest.mark.long
def test_every_call_that_is_measured_runs(part):
    import calls

    names = []
    for case in getattr(calls, part)():
        case.call()
        assert case.count >= 1
        names.append(case.name)
    assert len(set(names)) == len(names) > 2


@pytest.mark.long
def test_the_cost_of_calls_is_measured_against_joints_and_targets(monkeypatch, capsys):
    import call_cost
    import harness

    for name, value in (("JOINTS", (6, 17)), ("TARGETS", (1, 65)), ("DISTINCT_COUNT", 64), ("KINDS", 4)):
        monkeypatch.setattr(call_cost, name, value)
    monkeypatch.setattr(call_cost, "REPEATS", 1)
    monkeypatch.setattr(call_cost, "SECONDS", 1e-5)
    assert call_cost.main() == 0
    assert "missed" not in capsys.readouterr().err  # every target is reached
    document = json.loads((harness.RESULTS / "call_cost.json").read_text())
    assert [row["joints"] for row in document["rows"]] == [6, 17]
    assert [row["targets"] for row in document["targets"]] == [1, 65]
    assert all(time > 0 for row in document["rows"] + document["targets"] for time in row.values())
    assert len(document["targets"][0]) == 1 + 3 * len(call_cost.THREADS)
    assert all(row["after 4 kinds [MB]"] > 0 for row in document["memory"])


@pytest.mark.parametrize("count", [6, 17, 500])
def test_a_subject_has_its_number_of_moving_joints(count):
    import call_cost

    for _, build, _ in call_cost.CURVES:
        start = build(count).start
        assert int((start.skeleton.kinds != poise.Kind.FIXED).sum()) == count


def test_single_calls_are_judged_beside_peers(monkeypatch, tmp_path):
    import calls_peers

    def answer_wrongly(_python, _worker, call, _robot, targets, out):
        """Answer as a peer does: the first target right, the second 1e-3 rad away, none for the others."""
        with np.load(targets) as given:
            q = given["q"]
        np.savez(out, us=7.0, branches=[q[0] + 2 * np.pi, q[1] + 1e-3], of=[0, 1])
        return call

    class Done:
        returncode = 0

    try:
        judge = calls_peers.multiple_solutions.Judge(4)
    except OSError as error:
        pytest.skip(f"{WANT}: {error}")
    monkeypatch.setattr(calls_peers.environments, "python", lambda _: sys.executable)
    monkeypatch.setattr(calls_peers.subprocess, "run", lambda command, **_: answer_wrongly(*command) and Done)
    np.savez(tmp_path / "targets.npz", q=judge.q, T=judge.poses)
    assert calls_peers.run_call("eaik", "eaik", tmp_path / "targets.npz", judge) == (7.0, 0.25)
    found, notes = calls_peers.measure_arms(4, 2)
    assert notes == []
    assert {tuple(timed.microseconds) for timed in found.values()} == {(7.0, 7.0)}
    rows = calls_peers.make_rows("arm", found)
    assert [row["right [%]"] for row in rows] == [25.0] * len(calls_peers.ARM_CALLS)

    def refuse(_):
        raise RuntimeError("pip cannot install it")

    monkeypatch.setattr(calls_peers.environments, "python", refuse)
    found, notes = calls_peers.measure_arms(4, 2)
    assert not found
    assert notes[0].endswith("left out: pip cannot install it")
    assert len(notes) == len(calls_peers.ARM_CALLS)


def test_calls_of_poise_beside_peers_are_right(monkeypatch):
    import calls_peers

    def refuse(*_):
        raise RuntimeError("no node")

    monkeypatch.setattr(calls_peers.classic_ccd, "solve_with_three", refuse)
    found, notes = calls_peers.measure_two_bones(5, 2)
    assert notes == ["three.js left out: no node"]
    assert [timed.right for timed in found.values()] == [1.0]
    monkeypatch.setattr(calls_peers, "REPEATS", 1)
    try:
        judge = calls_peers.multiple_solutions.Judge(3)
        kinematics, _ = calls_peers.measure_kinematics(1)
    except OSError as error:
        pytest.skip(f"{WANT}: {error}")
    assert all(timed.right in (None, 1.0) for timed in kinematics.values())
    monkeypatch.syspath_prepend(str(FOLDER / "peers"))
    import quick_calls

    robot = calls_peers.models.load(calls_peers.ROBOT)
    for form in ("poise", "poise_matrix", "poise_prepared"):
        call, inputs, read = quick_calls.call_poise(robot, judge.poses, form)
        for k, value in enumerate(inputs):
            assert len(judge.correct(k, np.array(read(call(value))))) == 1


def test_two_bone_agrees_with_plain_cpp(tmp_path):
    import two_bone

    assert two_bone.main(rounds=2, count=1000, of_batch=500) == 0
    if shutil.which("g++") or shutil.which("clang++"):
        assert "solve(), default" in (tmp_path / "results" / "two_bone.md").read_text()


def test_the_fabrik_baseline_does_the_same_work():
    import fabrik_cpp_baseline

    try:
        fabrik_cpp_baseline.compiled()
    except RuntimeError as error:
        pytest.skip(str(error))
    row = fabrik_cpp_baseline.measure(10, "a solve", 1e-3, 1)
    assert row["sweeps, ours"] == pytest.approx(row["sweeps, C++"], abs=0.01)
    assert row["left, ours (median)"] == pytest.approx(row["left, C++"], rel=1e-3)


def test_the_fabrik_table_has_a_row_for_every_solver_and_set(monkeypatch):
    import fabrik_table

    monkeypatch.setattr(fabrik_table, "SWEEPS", 50)
    slow = {"JacobianTranspose()", "JacobianTranspose, textbook (adaptive)"}
    few = {label: solver for label, solver in fabrik_table.CONTENDERS.items() if label not in slow}
    monkeypatch.setattr(fabrik_table, "CONTENDERS", few)
    rows = {(row["targets"], row["solver"]): row for row in fabrik_table.classic(4)}
    assert len(rows) == 3 * len(few)
    for which in ("sphere, 600 mm", "ball, uniform"):
        for label in ("FABRIK()", "CCD()", "DampedLeastSquares()", "PseudoInverse()", "LevenbergMarquardt()"):
            assert rows[which, label]["as near as can be [%]"] == 100
    assert rows["unreachable, 1.0 to 1.2 m", "FABRIK()"]["as near as can be [%]"] == 100


def test_the_table_of_limits_finds_violations():
    """Its own formulas agree with the library on what is legal, and tell what is not."""
    import fabrik_limits

    limit, outside = fabrik_limits.cone((-10, -20), (40, 30), 20)
    skeleton = fabrik_limits.chain(fabrik_limits.JOINTS, 1.0, limit)
    q = np.random.default_rng(0).normal(size=(50, fabrik_limits.JOINTS, 4))
    q = (q / np.linalg.norm(q, axis=-1, keepdims=True)).reshape(50, -1)
    legal = skeleton.legal(q)[0]
    assert outside(legal).max() <= 1e-9
    assert (np.abs(outside(legal)).min(axis=-1) < 1e-9).all()  # some stand at their limit
    assert (outside(q).max(axis=-1) > 0.1).all()


def test_the_formulas_for_three_angles_find_violations():
    import fabrik_limits

    skeleton, outside = fabrik_limits.chains()["balls, angles about x, y, z"]
    q = np.random.default_rng(0).normal(size=(50, fabrik_limits.JOINTS, 4))
    q = (q / np.linalg.norm(q, axis=-1, keepdims=True)).reshape(50, -1)
    legal = skeleton.legal(q)[0]
    assert outside(legal).max() <= 1e-9
    assert (np.abs(outside(legal)).min(axis=-1) < 1e-9).all()
    assert (outside(q).max(axis=-1) > 0.1).all()


def test_auto_solves_chains_with_limits(monkeypatch):
    import fabrik_limits

    monkeypatch.setattr(fabrik_limits, "SOLVERS", {"auto": "auto"})
    rows, refused = fabrik_limits.limited(8)
    assert not refused
    assert [row["solved [%]"] for row in rows] == [100] * 4
    assert [row["outside by > 1e-9"] for row in rows] == [0] * 4


def test_terrain_times_every_kind_of_ground(tmp_path):
    import harness
    import terrain

    terrain.main(points=2_000, cells=12)
    table = (harness.RESULTS / "terrain.md").read_text(encoding="utf-8")
    for kind in ("flat", "slope", "stairs", "noise", "height map", "function", "mesh, 288 triangles"):
        assert f"| {kind}" in table
    map_, mesh = list(terrain.grounds(12, tmp_path).values())[-3::2]
    posts = np.random.default_rng(0).integers(-6, 7, (50, 3)) * (20 / 12) * [1, 0, 1]
    np.testing.assert_allclose(map_.heights(posts), mesh.heights(posts), atol=1e-5)  # the same hills


@pytest.mark.usefixtures("data")
def test_pole_sides_moves_the_chain_alone_and_judges_by_itself():
    import pole_sides

    rows = []
    pole_sides.main(6, lambda *table: rows.extend(table[2]))
    assert len(rows) == 12
    for row in rows:
        assert row["reached"] == row["targets"] == 24, row
        assert row["moved outside the chain"] == 0.0, row
        assert row["others of the chain turned [deg]"] < 2.0, row  # a collar bone joins from 0.85 arm lengths on
        assert row["worst [deg]"] < pole_sides.CLEAR, row
    # The judge sees an elbow that is a quarter turn off its pole.
    first, middle, tip = np.array([[0.0, 0, 0]]), np.array([[1.0, 1, 0]]), np.array([[2.0, 0, 0]])
    assert pole_sides.degrees_off(first, middle, tip, np.array([[1.0, 0, 3]])) == pytest.approx([90.0])

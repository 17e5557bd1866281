"""What the page changes: each action changes what it says, and wrong arguments change nothing."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import poise
from poise import EulerBox, Range, SwingTwist
from poise.io import samples
from poise.viewer.document.actions import ACTIONS, read_limit, write_limit
from poise.viewer.document.document import SolverChoice, build_document
from tests.viewer.action_cases import FIRST, GOOD, HAND, everything
from tests.viewer.watcher import MALFORMED, is_sentence, refusal, same
from tests.workload import amount

WORDS = sorted({name for cases in GOOD.values() for case in cases for name in case})


@pytest.fixture(scope="module")
def document():
    return everything()


def done(document, *steps):
    """The document after actions (name, arguments)."""
    for name, args in steps:
        document = ACTIONS[name].apply(document, args)
    return document


class TestEveryAction:
    def test_none_is_forgotten(self):
        assert GOOD.keys() == ACTIONS.keys()

    @pytest.mark.parametrize("name", ACTIONS)
    def test_good_arguments_change_a_new_document(self, document, name):
        before = done(document, *FIRST.get(name, ()))
        for args in GOOD[name]:
            after = done(before, (name, args))
            assert not same(before, after), args
            assert same(before, done(document, *FIRST.get(name, ())))

    def test_each_has_its_own_words_for_undo(self):
        labels = [action.label for action in ACTIONS.values()]
        assert len(set(labels)) == len(labels)
        assert all(label[0].islower() and len(label) < 32 for label in labels)

    @pytest.mark.parametrize("name", ACTIONS)
    def test_a_missing_argument_changes_nothing_or_is_a_sentence(self, document, name):
        document = done(document, *FIRST.get(name, ()))
        for args in GOOD[name]:
            for left_out in args:
                kept = {word: value for word, value in args.items() if word != left_out}
                sentence = refusal(lambda kept=kept: ACTIONS[name].apply(document, kept))
                assert sentence is None or is_sentence(sentence)
        must = {"handle": "name", "chain_add": "tip", "chain_remove": "chain", "chain_change": "chain", "pin": "joint",
                "pull": "joint", "target": "chain", "pole": "chain", "limit": "joint", "solver": "name",
                "option": "name"}  # fmt: skip
        empty = refusal(lambda: ACTIONS[name].apply(document, {}))
        if name in must:
            assert empty is not None
            assert must[name] in empty or "view" in empty

    @pytest.mark.parametrize("name", ACTIONS)
    @given(data=st.data())
    def test_wrong_arguments_change_nothing_and_give_one_sentence(self, document, name, data):
        """Good arguments of which some are replaced by anything; what goes through is a document that can be used."""
        args = dict(data.draw(st.sampled_from(GOOD[name])))
        for word in data.draw(st.sets(st.sampled_from(sorted(args)), min_size=1)):
            args[word] = data.draw(MALFORMED)
        check(document, name, args)

    @pytest.mark.parametrize("name", ACTIONS)
    @settings(max_examples=amount(20, 50))
    @given(args=st.dictionaries(st.sampled_from(WORDS), MALFORMED))
    def test_noise_changes_nothing_and_gives_one_sentence(self, document, name, args):
        check(document, name, args)


def check(document, name, args):
    before = done(document, *FIRST.get(name, ()))
    made = []
    sentence = refusal(lambda: made.append(ACTIONS[name].apply(before, args)))
    assert same(before, done(document, *FIRST.get(name, ())))
    if sentence is not None:
        assert is_sentence(sentence), sentence
        return
    numbers = [(*c.position, *c.rotation, *c.direction, *(c.pole or ()), c.weight) for c in made[0].chains]
    assert np.isfinite(np.array([n for of_chain in numbers for n in of_chain])).all()
    assert np.isfinite(made[0].solver_start.world.affine).all()


class TestTargets:
    def test_only_what_is_given_changes(self, document):
        after = done(document, ("target", {"chain": "left_arm", "position": [1, 2, 3]}))
        before, now = document.find_chain("left_arm"), after.find_chain("left_arm")
        assert now == before.replace(position=(1.0, 2.0, 3.0))
        turned = done(document, ("target", {"chain": "left_arm", "rotation": [0, 0, 0, -2]}))
        assert turned.find_chain("left_arm") == before.replace(rotation=(0.0, 0.0, 0.0, -1.0))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"position": [1, 2]}, {"position": [1, 2, math.nan]}, {"position": [1, 2, math.inf]}, {"position": "here"},
            {"position": [1, 2, 1e13]}, {"position": None}, {"rotation": [0, 0, 0, 0]}, {"rotation": [1, 0, 0]},
            {"direction": [0, 0, 0]}, {"position": [1, 2, True]}, {"chain": "unattended", "position": [1, 2, 3]},
        ],
    )  # fmt: skip
    def test_refused(self, document, wrong):
        assert is_sentence(refusal(lambda: done(document, ("target", {"chain": "left_arm", **wrong}))) or "")

    def test_one_that_stays_on_the_ground_is_put_there(self, document):
        leg = {"chain": "left_leg", "position": [0.3, 9.0, 0.7]}
        assert done(document, ("target", leg)).find_chain("left_leg").position == (0.3, 9.0, 0.7)  # no ground is shown
        flat = done(document, ("terrain", {"words": "flat"}), ("target", leg)).find_chain("left_leg").position
        ankle = document.rig.rest.world["LeftFoot"].positions[1] - document.rig.rest.world.positions[:, 1].min()
        np.testing.assert_allclose(flat, (0.3, ankle, 0.7), atol=1e-9)
        slope = done(document, ("terrain", {"words": "slope:10"}), ("target", leg)).find_chain("left_leg").position
        assert abs(slope[1] - flat[1]) > 0.01
        free = done(document, ("terrain", {"words": "slope:10"}), ("target", {**leg, "chain": "left_arm"}))
        assert free.find_chain("left_arm").position == (0.3, 9.0, 0.7)

    def test_new_ground_moves_those_that_stand_on_it(self, document):
        away = done(document, ("target", {"chain": "left_leg", "position": [0.1, 0.1, 1.0]}))
        moved = done(away, ("terrain", {"words": "slope:10"}))
        assert abs(moved.find_chain("left_leg").position[1] - 0.1) > 0.05
        assert moved.find_chain("left_arm") == away.find_chain("left_arm")

    def test_a_pole_comes_and_goes(self, document):
        with_pole = done(document, ("pole", {"chain": "left_arm", "position": [0, 1, -1]}))
        assert with_pole.find_chain("left_arm").pole == (0.0, 1.0, -1.0)
        assert same(done(with_pole, ("pole", {"chain": "left_arm", "position": None})), document)

    def test_a_pole_of_one_joint_is_refused(self, document):
        short = done(document, ("chain_change", {"chain": "left_arm", "root": "LeftForeArm"}))
        assert "two joints or more" in refusal(
            lambda: done(short, ("pole", {"chain": "left_arm", "position": [0, 1, 0]}))
        )


class TestChains:
    def test_a_new_one_begins_where_its_tip_is(self, document):
        added = done(document, ("chain_add", {"tip": "RightHand", "root": "RightArm", "kind": "place"})).chains[-1]
        assert (added.name, added.root, added.tip, added.kind) == ("RightHand", "RightArm", "RightHand", "place")
        np.testing.assert_array_equal(added.position, document.solver_start.world["RightHand"].positions)

    def test_names_are_unique(self, document):
        two = done(document, *[("chain_add", {"tip": "RightHand"})] * 3)
        assert [chain.name for chain in two.chains[-3:]] == ["RightHand", "RightHand 2", "RightHand 3"]

    def test_there_is_an_end(self, document):
        many = done(document, *[("chain_add", {"tip": "RightHand"})] * 61)
        assert len({chain.name for chain in many.chains}) == 64
        assert "64 chains" in refusal(lambda: done(many, ("chain_add", {"tip": "RightHand"})))

    @pytest.mark.parametrize(
        "args", [{"tip": "Hips"}, {"tip": "Head", "root": "LeftArm"}, {"tip": "Haed"}, {"tip": ""}]
    )
    def test_where_there_is_none(self, document, args):
        assert is_sentence(refusal(lambda: done(document, ("chain_add", args))) or "")

    def test_a_pin_holds_where_the_start_pose_has_the_joint(self, document):
        far = done(document, ("target", {"chain": "left_arm", "position": HAND}))
        pinned = done(far, ("chain_change", {"chain": "left_arm", "kind": "pin"})).find_chain("left_arm")
        np.testing.assert_array_equal(pinned.position, document.solver_start.world["LeftHand"].positions)
        on = done(document, ("pin", {"joint": "RightFoot", "on": True}))
        np.testing.assert_array_equal(on.chains[-1].position, document.solver_start.world["RightFoot"].positions)
        assert same(done(on, ("pin", {"joint": "RightFoot", "on": True})), on)
        assert same(done(on, ("pin", {"joint": "RightFoot", "on": False})), document)
        assert same(done(document, ("pin", {"joint": "RightFoot", "on": False})), document)

    def test_a_weight_is_positive(self, document):
        for weight in (0, -1, 1e7, "2"):
            assert refusal(lambda weight=weight: done(document, ("chain_change", {"chain": "head", "weight": weight})))


class TestMethod:
    def test_a_new_solver_begins_with_its_defaults(self, document):
        set_once = done(document, ("option", {"view": 1, "name": "iterations", "value": 5}))
        assert set_once.solvers[1] == SolverChoice("ccd", (("iterations", 5),))
        assert done(set_once, ("solver", {"view": 1, "name": "ccd"})).solvers[1] == SolverChoice("ccd")

    def test_null_is_the_default(self, document):
        set_once = done(document, ("option", {"view": 1, "name": "iterations", "value": 5}))
        assert same(done(set_once, ("option", {"view": 1, "name": "iterations", "value": None})), document)

    def test_an_option_that_is_unknown_is_answered_with_those_there_are(self, document):
        reported = refusal(lambda: done(document, ("option", {"view": 1, "name": "zzz", "value": 5})))
        assert reported.startswith("no option of ccd 'zzz'; options of ccd: iterations, ")

    @pytest.mark.parametrize(
        "args",
        [
            {"view": 1, "name": "iterations", "value": -1}, {"view": 1, "name": "iterations", "value": 1.5},
            {"view": 1, "name": "iterations", "value": "many"}, {"view": 1, "name": "itarations", "value": 1},
            {"view": 0, "name": "iterations", "value": 5}, {"view": 2, "name": "iterations", "value": 5},
            {"view": 0.5, "name": "iterations", "value": 5}, {"view": 1, "name": "finish", "value": 7},
        ],
    )  # fmt: skip
    def test_refused_options(self, document, args):
        assert is_sentence(refusal(lambda: done(document, ("option", args))) or "")

    def test_modes_that_make_no_difference_say_why(self, document):
        joints = [name for name, limit in zip(document.skeleton.names, document.skeleton.limits, strict=True) if limit]
        bare = done(document, *[("limit", {"joint": joint, "limit": None}) for joint in joints])
        assert "give one under Limits" in refusal(lambda: done(bare, ("mode", {"value": "limits"})))
        assert done(bare, ("mode", {"value": "plain"})).limit_mode == "plain"

    @pytest.mark.parametrize("count", [0, 7, 1.5, "two", None, True])
    def test_one_view_to_six(self, document, count):
        assert refusal(lambda: done(document, ("views", {"count": count})))

    def test_each_new_view_has_a_method_of_its_own(self, document):
        """Views that are taken away keep theirs."""
        chosen = done(document, ("solver", {"view": 1, "name": "fabrik"}))
        six = done(chosen, ("views", {"count": 6}))
        names = [choice.name for choice in six.solvers]
        assert names[:2] == ["auto", "fabrik"]
        assert len(set(names)) == len(names) == 6
        changed = done(
            six, ("solver", {"view": 5, "name": "two_bone"}), ("views", {"count": 1}), ("views", {"count": 6})
        )
        assert changed.solvers[5] == SolverChoice("two_bone")
        assert refusal(lambda: done(chosen, ("solver", {"view": 2, "name": "ccd"})))


class TestAnatomical:
    def test_joints_without_a_limit_get_that_of_people_and_lose_it_again(self, document):
        on = done(document, ("mode", {"value": "plain"}), ("anatomical", {"on": True}))
        assert on.limit_mode == "limits"
        before, after = document.skeleton.limits, on.skeleton.limits
        assert [limit for limit in before if limit] == [new for old, new in zip(before, after, strict=True) if old]
        people = poise.find_roles(document.rig).limits()
        assert {name for name in people if document.skeleton[name].limit is None} == {
            name for name, old, new in zip(on.skeleton.names, before, after, strict=True) if new and not old
        }
        assert done(on, ("anatomical", {"on": False})).skeleton == document.skeleton

    def test_a_limit_that_was_edited_stays(self, document):
        hinge = {"type": "range", "low": 0, "high": 1, "axis": [1, 0, 0]}
        edited = ("limit", {"joint": "RightUpLeg", "limit": hinge})
        off = done(document, ("anatomical", {"on": True}), edited, ("anatomical", {"on": False}))
        assert off.skeleton["RightUpLeg"].limit == Range(0, 1, axis=(1, 0, 0))
        assert off.skeleton["RightFoot"].limit is None

    def test_it_says_why_it_cannot(self, document):
        every = done(document, ("anatomical", {"on": True})).skeleton
        full = dataclasses.replace(every, limits=tuple(
            limit and dataclasses.replace(limit, source="sidecar") for limit in every.limits
        ))  # fmt: skip
        message = refusal(lambda: done(document.replace(skeleton=full), ("anatomical", {"on": True})))
        assert message == "every joint of the character has a limit"
        arm = poise.load(samples.path("arm.urdf")).skeleton
        assert "need known arms and legs" in refusal(lambda: done(shown(arm), ("anatomical", {"on": True})))


class TestLimits:
    LIMITS = (
        Range(0.5, 0.5, axis=(0, 0, 1)), Range(-0.5, 0.5, axis=(0, 0, 1)), Range(-math.inf, 1.0, axis=(1, 0, 0)),
        Range(-1, 1),
        SwingTwist((0, 1, 0), 0.4, (-0.1, 0.1)),
        SwingTwist((0, 1, 0), ((-0.4, 0.3), (-0.2, 0.1)), (-3.0, 0.1), (1, 0, 0)),
        EulerBox("ZXY", x=(-0.1, 0.1), y=(-0.2, math.inf), z=(-0.3, 0.3)),
    )  # fmt: skip

    @pytest.mark.parametrize("limit", LIMITS, ids=str)
    def test_what_is_written_is_read_again(self, limit):
        assert read_limit(json.loads(json.dumps(write_limit(limit), allow_nan=False))) == limit

    def test_a_joint_whose_name_is_a_pattern_is_this_joint_only(self):
        names = ["a*", "ab", "a?", "[ab]", "a]"]
        skeleton = poise.Skeleton.build(names, [-1, 0, 1, 2, 3], [3] * 5)
        hinge = {"type": "range", "low": 0, "high": 1, "axis": [1, 0, 0]}
        for name in names:
            after = done(shown(skeleton), ("limit", {"joint": name, "limit": hinge}))
            limited = [joint for joint in names if after.skeleton[joint].limit is not None]
            assert limited == [name]

    def test_the_start_is_moved_inside(self, document):
        box = {"type": "range", "low": 0.2, "high": 0.3, "axis": [0, 0, 1]}
        after = done(document, ("limit", {"joint": "LeftArm", "limit": box}))
        assert after.solver_start.q.tobytes() != document.solver_start.q.tobytes()
        assert after.start is document.start  # taking the limit away brings it back

    @pytest.mark.parametrize(
        "wrong",
        [
            3, "range", [], {}, {"type": "cone"}, {"type": "range", "low": 2, "high": 1, "axis": [1, 0, 0]},
            {"type": "range", "low": 0, "high": 1, "axis": [0, 0, 0]}, {"type": "range", "low": 0, "high": 1},
            {"type": "range", "low": math.nan, "high": 1, "axis": [1, 0, 0]},
            {"type": "swing_twist", "axis": [1, 0, 0], "swing": -1, "twist": [0, 0]},
            {"type": "swing_twist", "axis": [1, 0, 0], "swing": 1, "twist": [1, 0]},
            {"type": "swing_twist", "axis": [1, 0, 0], "swing": 1, "twist": 3},
            {"type": "swing_twist", "axis": [1, 0, 0], "swing": 1, "twist": [0, 1, 2]},
            {"type": "swing_twist", "axis": [0, 0, 0], "swing": 1, "twist": [0, 0]},
            {"type": "euler", "order": "XXY", "ranges": [[0, 1]] * 3},
            {"type": "euler", "order": "XYZ", "ranges": [[0, 1]] * 2},
            {"type": "euler", "order": "XYZ", "ranges": [[1, 0]] * 3},
            {"type": "euler", "order": "XYZ", "ranges": [[0]] * 3},
            {"type": "euler", "order": "XYZ", "ranges": "wide"},
        ],
        ids=str,
    )  # fmt: skip
    def test_refused(self, document, wrong):
        assert is_sentence(refusal(lambda: done(document, ("limit", {"joint": "LeftArm", "limit": wrong}))) or "")

    def test_a_mesh_node_or_a_stranger(self, document):
        assert "Lfet" in refusal(lambda: done(document, ("limit", {"joint": "LfetArm", "limit": None})))


class TestTimeline:
    def test_planting_needs_a_clip_and_shows_a_floor(self, document):
        assert "no clip" in refusal(lambda: done(document, ("plant", {"on": True})))
        planted = done(document, ("clip", {"name": "walk"}), ("plant", {"on": True}))
        assert (planted.plants_feet, planted.terrain_spec) == (True, "flat")
        assert not done(planted, ("clip", {"name": None})).plants_feet
        assert not done(planted, ("terrain", {"words": None})).plants_feet
        assert done(planted, ("terrain", {"words": "slope:5"})).plants_feet

    def test_clips_are_those_of_the_file(self, document):
        assert "walk" in refusal(lambda: done(document, ("clip", {"name": "wlak"})))

    def test_legs_are_needed(self):
        bone = shown(poise.Skeleton.build(["a", "b"], [-1, 0], [3, 3]))
        assert "legs" in refusal(lambda: done(bone.replace(clip_name="x"), ("plant", {"on": True})))

    @pytest.mark.parametrize(
        "words",
        [
            "",
            "/etc/passwd",
            "../secret.png",
            "hills/../..",
            "stairs:",
            "slope:x",
            "noise:1e400,1",
            "stairs:0.1,0.3@x",
            "slope:5@1e9",
            "flat@90",
            "hills@90",
            "slope:" + "9" * 300,
        ],
    )
    def test_a_page_cannot_name_files(self, document, words, monkeypatch):
        """Only shapes; and no file is opened for any of these words."""
        monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a file is opened"))
        assert is_sentence(refusal(lambda: done(document, ("terrain", {"words": words}))) or "")

    def test_a_file_that_the_program_has_named_may_be_chosen_again(self, document, tmp_path):
        np.save(tmp_path / "ground.npy", np.zeros((4, 4)))
        given = document.replace(terrain_spec=str(tmp_path / "ground.npy"))
        sentence = refusal(lambda: done(given, ("terrain", {"words": given.terrain_spec})))
        assert sentence is None or "ground is one of" not in sentence


def shown(skeleton):
    return build_document(poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q)), chains=())

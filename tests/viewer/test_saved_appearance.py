"""What the page saves shows what the page showed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import poise
from poise.io import samples
from poise.viewer import scenes
from poise.viewer.document.document import build_document
from poise.viewer.session.downloads import (
    build_document_page,
    build_download,
    list_formats,
    solve_clip,
    solve_document_pose,
)
from tests.viewer.action_cases import HAND, everything, rig
from tests.viewer.watcher import is_sentence, refusal, watched

MIMES = {"glb": "model/gltf-binary", "bvh": "text/plain", "json": "application/json", "csv": "text/csv",
         "toml": "application/toml", "html": "text/html", "gltf": "model/gltf+json"}  # fmt: skip


def reaching():
    document = everything()
    return document.with_chain(document.chains[0].replace(position=tuple(HAND)))


@pytest.fixture(scope="module")
def pose():
    return solve_document_pose(reaching())


def read_page_data(page):
    """Read what a page has for its player."""
    return json.loads(re.search(r'id="poise-data">(.*?)</script>', page.decode(), re.DOTALL)[1])


def written(made, folder):
    path = folder / made.name
    path.write_bytes(made.data)
    return path


class TestAPose:
    @pytest.mark.parametrize("wanted", ["glb", "gltf", "bvh"])
    def test_loaded_again_it_is_the_pose_that_was_shown(self, pose, wanted, tmp_path):
        made = build_download(reaching(), pose, None, wanted)
        assert (made.name.rpartition(".")[2], made.mime) == (wanted, MIMES[wanted])
        again = poise.load(written(made, tmp_path)).pose
        for joint in ("LeftHand", "LeftForeArm", "RightFoot", "Head"):
            np.testing.assert_allclose(again.world[joint].positions, pose.world[joint].positions, atol=1e-4)
        np.testing.assert_allclose(again.world["LeftHand"].positions, HAND, atol=2e-3)

    @pytest.mark.parametrize("wanted", ["json", "csv"])
    def test_joint_values(self, pose, wanted):
        made = build_download(reaching(), pose, None, wanted)
        assert made.mime == MIMES[wanted]
        text = made.data.decode()
        assert "LeftForeArm" in text
        if wanted == "json":
            json.loads(text)

    def test_a_robot_keeps_its_limits_as_edited(self, tmp_path):
        arm = poise.load(samples.path("arm.urdf"))
        document = build_document(arm)
        narrow = document.replace(skeleton=document.skeleton.with_limits({"elbow": poise.Range(-0.25, 0.5)}))
        made = build_download(narrow, narrow.solver_start, None, "urdf")
        again = poise.load(written(made, tmp_path))
        limit = again.skeleton["elbow"].limit
        assert (limit.low, limit.high) == (-0.25, 0.5)

    def test_of_a_crowd_the_first_is_saved(self, tmp_path):
        document = scenes.build_scene("crowd")
        q = np.repeat(document.solver_start.q[None], 10, axis=0)
        made = build_download(document, poise.Pose(document.solver_skeleton, q), None, "json")
        assert made.data == build_download(document, document.solver_start, None, "json").data

    @pytest.mark.parametrize("wanted", ["", "exe", "../x", "PNG", "x" * 300])
    def test_other_words_are_a_sentence(self, pose, wanted):
        assert is_sentence(refusal(lambda: build_download(reaching(), pose, None, wanted)) or "")


class TestTheSidecar:
    def test_chains_and_limits_come_back_with_the_rig(self, pose, tmp_path):
        document = reaching()
        hinge = poise.Range(-0.5, 0.75, axis=(0, 0, 1))
        document = document.replace(skeleton=document.skeleton.with_limits({"LeftArm": hinge}))
        made = build_download(document, pose, None, "toml")
        assert (made.name, made.mime) == ("humanoid.ik.toml", MIMES["toml"])
        (tmp_path / "humanoid.glb").write_bytes(samples.path("humanoid.glb").read_bytes())
        written(made, tmp_path)
        again = poise.load(tmp_path / "humanoid.glb").skeleton
        limit = again["LeftArm"].limit
        assert (limit.low, limit.high) == pytest.approx((-0.5, 0.75))
        np.testing.assert_allclose(limit.axis, (0, 0, 1), atol=1e-9)
        assert again.chains["left_arm"] == ("LeftArm", "LeftHand")
        assert set(again.chains) == {chain.name for chain in document.chains}


class TestAClip:
    def test_chains_are_solved_on_every_frame(self):
        walk = rig().clip("walk")
        made = solve_clip(reaching(), walk)
        hands = made.poses.world["LeftHand"].positions
        np.testing.assert_allclose(hands, np.repeat([HAND], len(walk), axis=0), atol=2e-3)
        np.testing.assert_array_equal(made.times, walk.times)
        np.testing.assert_allclose(
            made.poses.world["RightFoot"].positions, walk.poses.world["RightFoot"].positions, atol=1e-9
        )

    def test_without_chains_it_is_the_clip(self):
        walk = rig().clip("walk")
        assert solve_clip(everything().replace(chains=()), walk) is walk

    @pytest.mark.parametrize("wanted", ["glb", "bvh"])
    def test_loaded_again_it_is_that_clip(self, pose, wanted, tmp_path):
        walk = rig().clip("walk")
        made = build_download(reaching(), pose, walk, wanted)
        again = poise.load(written(made, tmp_path)).clips[-1]
        assert len(again) == len(walk)
        np.testing.assert_allclose(again.at(0.5).world["LeftHand"].positions, HAND, atol=2e-3)


@pytest.mark.long
class TestAPage:
    @pytest.mark.parametrize("scene", ["ccd", "crowd", "walk_on_hills", "feet"])
    def test_it_needs_nothing_else(self, scene):
        document = scenes.build_scene(scene)
        clip = document.rig.clip(document.clip_name) if document.clip_name else None
        made = build_download(document, document.solver_start, clip, "html")
        assert (made.name.rpartition(".")[2], made.mime) == ("html", MIMES["html"])
        text = made.data.decode()
        assert text.startswith("<!doctype html>")
        for word in ('src="http', 'href="http', "ws://", "wss://", 'from "http', "token="):
            assert word not in text

    def test_it_goes_on_from_the_pose_that_is_shown(self):
        document = scenes.build_scene("ccd")
        shown = solve_document_pose(document)
        assert np.abs(shown.q - document.solver_start.q).max() > 0.1
        (mode, *_) = read_page_data(build_document_page(document))["solved"]["modes"].values()
        assert mode["start"] == shown.q.tolist()

    def test_a_body_has_the_mode_of_the_document_first(self):
        body = build_document(poise.load(samples.path("humanoid.glb")))
        for mode, first in (("limits", "limits"), ("plain", "free")):
            packed = read_page_data(build_document_page(body.replace(limit_mode=mode)))["body"]
            assert next(iter(packed["modes"])) == first

    def test_a_body_has_the_configurations_of_the_frames_that_are_kept(self):
        rig = poise.load(samples.path("humanoid.glb"))
        walk = rig.clips[0]
        times = walk.times + np.where(np.arange(len(walk)) % 5 == 1, 0.005 - np.diff(walk.times, prepend=0.0), 0.0)
        clip = poise.Clip(times, walk.poses, "uneven")
        document = build_document(rig).with_chains_off()
        data = read_page_data(build_download(document, document.solver_start, clip, "html").data)
        assert data["body"]["frames"][1] == data["frames"] * len(document.solver_start.q)
        assert data["frames"] < len(walk)

    def test_poses_of_a_program_are_not_solved(self):
        body = build_document(poise.load(samples.path("humanoid.glb"))).replace(is_driven=True)
        pose = body.solver_start
        data = read_page_data(build_download(body, pose, None, "html").data)
        assert (data["body"], data["solved"]) == (None, None)


class TestInTheStudio:
    @pytest.mark.parametrize("wanted", [*list_formats(rig()), "html"])
    def test_each_format_arrives(self, wanted):
        with watched(everything()) as page:
            page.send("save", format=wanted)
            file = page.until(lambda page: page.newest("file"))
            page.until(lambda page: any(binary[0] == 4 for binary in page.binaries))
            (binary,) = (binary for binary in page.binaries if binary[0] == 4)
            assert int.from_bytes(binary[4:8], "little") == file["id"]
            assert (file["mime"], len(binary) > 108) == (MIMES[wanted], True)
            page.until(lambda page: any(message["level"] == "done" for message in page.all("message")))
            assert page.errors == []

    def test_what_cannot_be_saved_is_reported(self):
        with watched(scenes.build_scene("ccd")) as page:
            page.send("save", format="glb")
            page.send("save", format="nothing")
            page.until(lambda page: page.errors)
            assert all(is_sentence(text) for text in page.errors)
            page.until(lambda page: page.newest("busy")["text"] is None)

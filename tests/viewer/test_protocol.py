"""Messages: the header byte by byte, what a page may say, and that everything else is one sentence."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poise
from poise.maths import rotations
from poise.solvers.base.interface import Status
from poise.viewer import protocol
from poise.viewer.protocol import PoseHeader, ViewStatus, pack_asset, pack_download, pack_poses, read_message
from poise.viewer.rig_message import pack_frame_rows
from tests.strategies import straight_chain
from tests.viewer.watcher import MALFORMED, Frame, is_sentence, refusal

KNOWN = ("one", "two")
READERS = {
    "text": lambda args: protocol.read_text(args, "x"),
    "one_of": lambda args: protocol.read_choice(args, "x", KNOWN),
    "truth": lambda args: protocol.read_bool(args, "x"),
    "number": lambda args: protocol.read_number(args, "x"),
    "vector": lambda args: protocol.read_vector(args, "x"),
    "quaternion": lambda args: protocol.read_quaternion(args, "x"),
}


class TestPoses:
    def test_the_header_is_what_the_page_reads(self):
        """Offset by offset, as the page's DataView does it."""
        rows = np.arange(2 * 3 * 4 * 7, dtype=np.float32).reshape(2, 3, 4, 7)
        solved = (ViewStatus(1, 12.5, 0.25, 7), ViewStatus(3, 99.0, 0.5, 70_000))
        head = PoseHeader(
            target_serial=0xFFFFFFF0, time=1.5, flags=3, race_iteration=9, document_version=0x81020304,
            view_statuses=solved,
        )  # fmt: skip
        message = pack_poses(protocol.KIND_POSE, rows, 0x0A0B0C0D, head)
        fields = {
            0: ("B", 1), 1: ("B", 2), 2: ("B", 2), 3: ("B", 7), 4: ("H", 3), 6: ("H", 4), 8: ("I", 0x0A0B0C0D),
            12: ("I", 0xFFFFFFF0), 16: ("f", 1.5), 20: ("H", 3), 22: ("H", 9), 24: ("I", 0x81020304),
            28: ("B", 1), 29: ("B", 0), 30: ("H", 7), 32: ("f", 12.5), 36: ("f", 0.25),
            40: ("B", 3), 41: ("B", 0), 42: ("H", 65_535), 44: ("f", 99.0), 48: ("f", 0.5),
        }  # fmt: skip
        assert sum(struct.calcsize(kind) for kind, _ in fields.values()) == 28 + 2 * 12  # no byte is left out
        for offset, (kind, value) in fields.items():
            assert struct.unpack_from(f"<{kind}", message, offset) == (value,), offset
        assert message[8:12] == bytes([0x0D, 0x0C, 0x0B, 0x0A])  # little endian
        np.testing.assert_array_equal(np.frombuffer(message, "<f4", offset=52), rows.ravel())

    def test_there_are_as_many_statuses_as_views(self):
        """Of views that are not shown nothing is told."""
        solved = tuple(ViewStatus(code, 5.0) for code in range(6))
        for views in (1, 4, 6):
            rows = np.zeros((views, 1, 1, 12), np.float32)
            frame = Frame(pack_poses(protocol.KIND_START_POSE, rows, 0, PoseHeader(view_statuses=solved)))
            assert frame.kind == protocol.KIND_START_POSE
            assert frame.statuses == list(range(views))
            assert math.isnan(frame.left)
            assert frame.rows.shape == rows.shape

    def test_nothing_solved_is_255(self):
        assert Frame(pack_poses(1, np.zeros((1, 1, 1, 7), np.float32), 1, PoseHeader())).status == 255

    def test_the_codes_of_a_status_are_the_librarys(self):
        """The page names them by number."""
        names = ["reached", "out_of_reach", "limited", "stalled", "nothing_to_move", "over_constrained"]
        names += ["on_the_way", "held_back", "contradictory", "loops_open"]
        assert [Status(code).name for code in range(10)] == names
        assert max(Status) < protocol.STATUS_REFUSED

    def test_other_orders_and_types_of_rows_arrive_the_same(self):
        rows = np.asfortranarray(np.random.default_rng(0).normal(size=(1, 2, 5, 7)))
        for given_rows in (rows, rows.astype(">f4"), rows[:, ::-1][:, ::-1]):
            message = pack_poses(1, given_rows, 1, PoseHeader())
            np.testing.assert_array_equal(np.frombuffer(message, "<f4", offset=40), rows.astype("<f4").ravel())

    def test_67_joints_fit_in_two_and_a_half_kilobytes(self):
        skeleton = straight_chain(66)
        rows = pack_frame_rows(poise.Pose(skeleton, skeleton.rest_q))[None, None]
        message = pack_poses(1, rows, 1, PoseHeader())
        assert rows.shape == (1, 1, 67, 7)
        assert len(message) == 40 + 67 * 28 <= 2560

    def test_a_joint_is_x_y_z_and_w_x_y_z(self):
        skeleton = poise.Skeleton.build(["a", "b"], [-1, 0], [3, 0], offsets=[(1, 2, 3), (0, 1, 0)])
        turn = np.array([0.5, 0.5, -0.5, 0.5])
        rows = pack_frame_rows(poise.Pose(skeleton, turn))
        np.testing.assert_allclose(rows[0], [1, 2, 3, *turn], atol=1e-7)
        at = np.array([1, 2, 3]) + rotations.rotate(turn, np.array([0.0, 1.0, 0.0]))
        np.testing.assert_allclose(rows[1, :3], at, atol=1e-6)


def test_assets_and_downloads_have_eight_bytes_before_them():
    for message, first in (
        (pack_asset(protocol.TERRAIN_ASSET, 77, b"glTF"), (3, 2)),
        (pack_download(77, b"glTF"), (4, 0)),
    ):
        assert struct.unpack_from("<BBHI", message) == (*first, 0, 77)
        assert message[8:] == b"glTF"


class TestWhatAPageSays:
    def test_an_action(self):
        assert read_message('{"do": "seek", "time": 2}') == {"do": "seek", "time": 2}

    @pytest.mark.parametrize(
        "wrong",
        [
            "", "null", "[]", "3", '"do"', "{}", '{"do": 3}', '{"do": null}', '{"do": "x"', "{'do': 'x'}", "\x00",
            '{"do": "x", "n": NaN}', '{"do": "x", "n": Infinity}', '{"do": "x", "n": -Infinity}', "[" * 50_000,
            '{"do":' * 5_000, '{"do": "x", "n": ' + "9" * 6000 + "}", b'{"do": "x"}', "x" * 60_000,
        ],
    )  # fmt: skip
    def test_anything_else_is_one_sentence(self, wrong):
        with pytest.raises(poise.InputError) as caught:
            read_message(wrong)
        assert is_sentence(str(caught.value))

    @given(st.text() | st.binary())
    def test_noise_is_never_another_error(self, noise):
        message_text = []
        sentence = refusal(lambda: message_text.append(read_message(noise)))
        assert isinstance(message_text[0]["do"], str) if sentence is None else is_sentence(sentence)

    @given(st.dictionaries(st.text(), MALFORMED))
    def test_an_object_without_a_word_is_refused(self, args):
        args.pop("do", None)
        with pytest.raises(poise.InputError):
            read_message(json.dumps({**args, "do": 1}))


class TestArguments:
    @pytest.mark.parametrize("name", READERS)
    def test_a_missing_one_is_named(self, name):
        with pytest.raises(poise.InputError, match="^x is "):
            READERS[name]({})

    @pytest.mark.parametrize("name", READERS)
    @given(value=MALFORMED)
    def test_a_value_is_of_its_kind_or_refused(self, name, value):
        found = []
        sentence = refusal(lambda: found.append(READERS[name]({"x": value})))
        if sentence is not None:
            assert is_sentence(sentence)
            return
        flat = found[0] if isinstance(found[0], tuple) else found
        assert all(isinstance(one, str | bool) or math.isfinite(one) for one in flat)

    def test_truth_is_no_number_and_a_number_no_truth(self):
        for reader, value in (("number", True), ("truth", 1), ("vector", [1, 2, True]), ("text", 1)):
            with pytest.raises(poise.InputError):
                READERS[reader]({"x": value})

    def test_a_quaternion_gets_length_one_and_keeps_its_order(self):
        assert protocol.read_quaternion({"x": [0, 3, 0, 4]}, "x") == (0.0, 0.6, 0.0, 0.8)
        assert protocol.read_quaternion({"x": [1e-200, 0, 0, 0]}, "x") == (1.0, 0.0, 0.0, 0.0)
        with pytest.raises(poise.InputError, match="zero length"):
            protocol.read_quaternion({"x": [0, 0, 0, 0]}, "x")

    def test_bounds_are_reported(self):
        assert protocol.read_number({"x": 2}, "x", 1, 3) == 2.0
        with pytest.raises(poise.InputError, match="x is a number from 1 to 3, not 4"):
            protocol.read_number({"x": 4}, "x", 1, 3)
        with pytest.raises(poise.InputError, match="at most 400 characters"):
            protocol.read_text({"x": "y" * 401}, "x")
        with pytest.raises(poise.InputError, match="one of one, two, not 'three'"):
            protocol.read_choice({"x": "three"}, "x", KNOWN)

    def test_a_text_may_be_missing_where_it_may(self):
        assert protocol.read_optional_text({}, "x") is None
        assert protocol.read_optional_text({"x": None}, "x") is None
        assert protocol.read_optional_text({"x": ""}, "x") == ""

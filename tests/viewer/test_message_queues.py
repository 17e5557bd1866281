"""The two boxes between server and studio: order, the newest pose only, and nothing that grows."""

from __future__ import annotations

import json
import random
import threading

import pytest

from poise.viewer.session.message_queues import Inbox, Outbox

WELCOME = {"kind": "welcome"}


@pytest.fixture
def outbox():
    box = Outbox()
    box.attach(lambda: None)
    box.send(WELCOME)
    box.take()
    return box


def kinds(parts):
    return [json.loads(part)["kind"] if isinstance(part, str) else part for part in parts]


def numbered(number):
    return b"pose %d" % number


def move(chain="a", serial=0, **more):
    return {"do": "target", "chain": chain, "phase": "move", "serial": serial, **more}


class TestControls:
    def test_they_keep_their_order_and_their_binaries(self, outbox):
        outbox.send({"kind": "model"}, b"mesh", b"ghost")
        outbox.send_start_pose(b"ghost 2")
        outbox.send({"kind": "message", "text": "a"})
        outbox.send({"kind": "message", "text": "b"})
        assert kinds(outbox.take()) == ["model", b"mesh", b"ghost", b"ghost 2", "message", "message"]
        assert outbox.take() == []

    @pytest.mark.parametrize("kind", ["state", "answer", "busy"])
    def test_of_some_the_newest_only(self, outbox, kind):
        outbox.send({"kind": kind, "text": "old"})
        outbox.send({"kind": "message"})
        outbox.send({"kind": kind, "text": "new"})
        message, newest = outbox.take()
        assert json.loads(message)["kind"] == "message"
        assert json.loads(newest) == {"kind": kind, "text": "new"}

    def test_no_json_that_a_page_cannot_read(self, outbox):
        with pytest.raises(ValueError, match="JSON"):
            outbox.send({"kind": "answer", "left": float("nan")})
        assert outbox.take() == []

    def test_they_go_before_the_pose(self, outbox):
        outbox.send_frame(numbered)
        outbox.send({"kind": "state"})
        assert kinds(outbox.take())[0] == "state"


class TestPoses:
    def test_only_the_newest_is_kept(self, outbox):
        for _ in range(100):
            outbox.send_frame(numbered)
        assert outbox.take() == [b"pose 100"]

    def test_none_is_sent_before_the_last_was_shown(self, outbox):
        first = outbox.send_frame(numbered)
        assert outbox.take() == [b"pose 1"]
        for _ in range(5):
            second = outbox.send_frame(numbered)
            assert outbox.take() == []
        outbox.acknowledge(first)
        assert outbox.take() == [b"pose 6"]
        outbox.acknowledge(first)  # an old number, again
        outbox.send_frame(numbered)
        assert outbox.take() == []
        outbox.acknowledge(second)
        assert outbox.take() == [b"pose 7"]

    def test_free_means_that_a_page_waits(self, outbox):
        assert not Outbox().can_take_frame
        assert outbox.can_take_frame
        number = outbox.send_frame(numbered)
        assert not outbox.can_take_frame
        outbox.take()
        assert not outbox.can_take_frame
        outbox.acknowledge(number)
        assert outbox.can_take_frame

    def test_a_frame_that_is_packed_meanwhile_does_not_lose_the_one_that_is_sent(self, outbox):
        """The number that is waited for is the number of the frame that went out."""
        first = outbox.send_frame(numbered)
        sent = []

        def pack(number):
            sent.extend(outbox.take())
            return numbered(number)

        second = outbox.send_frame(pack)
        assert sent == [b"pose 1"]
        assert outbox.take() == []
        outbox.acknowledge(first)
        assert outbox.take() == [numbered(second)]

    def test_a_frame_of_the_page_before_is_not_for_the_next(self, outbox):
        def pack(number):
            outbox.attach(lambda: None)
            outbox.send(WELCOME)
            return numbered(number)

        outbox.send_frame(pack)
        assert kinds(outbox.take()) == ["welcome"]

    def test_waking_when_there_is_something_to_take(self):
        box, woken = Outbox(), []
        box.attach(lambda: woken.append(1))
        box.send(WELCOME)
        number = box.send_frame(numbered)
        assert len(woken) == 2
        box.take()
        box.send_frame(numbered)
        box.acknowledge(number)
        assert len(woken) == 4


class TestPages:
    def test_nothing_grows_without_a_page(self):
        box = Outbox()
        for detached in (False, True):
            if detached:
                box.attach(print)
                box.send(WELCOME)
                box.detach(print)
            for _ in range(1000):
                box.send({"kind": "message", "text": "x" * 100})
                box.send_start_pose(b"x" * 100)
                box.send_frame(numbered)
            assert box.take() == []
            assert not box.is_attached

    def test_the_first_message_is_the_welcome(self):
        box = Outbox()
        box.attach(lambda: None)
        box.send({"kind": "state"})
        box.send_start_pose(b"ghost")
        box.send_frame(numbered)
        assert not box.can_take_frame
        box.send(WELCOME)
        box.send({"kind": "model"})
        assert kinds(box.take()) == ["welcome", "model"]

    def test_a_page_that_takes_over_finds_nothing_of_the_one_before(self, outbox):
        outbox.send({"kind": "message"})
        outbox.send_frame(numbered)
        outbox.take()
        outbox.send_frame(numbered)
        outbox.attach(lambda: None)
        assert outbox.take() == []
        outbox.send(WELCOME)
        assert outbox.can_take_frame  # what the other page has not seen does not matter

    def test_leaving_late_does_not_end_the_page_that_took_over(self):
        box = Outbox()
        first, second = (lambda: None), (lambda: None)
        box.attach(first)
        box.attach(second)
        box.send(WELCOME)
        box.detach(first)
        assert box.is_attached
        assert kinds(box.take()) == ["welcome"]
        box.detach(second)
        assert not box.is_attached

    def test_races(self):
        """A studio, a page that reads and many that come and go: frames go up, one at a time, and nobody is stuck."""
        box, end, faults = Outbox(), threading.Event(), []

        def studio():
            while not end.is_set():
                box.send(WELCOME)
                box.send({"kind": "state"})
                box.send_frame(numbered)

        def pages():
            for turn in range(60):
                ready = threading.Event()
                box.attach(ready.set)
                observed = []
                while len(observed) < 3:
                    if not ready.wait(30):
                        faults.append(f"page {turn} waits for ever after {observed}")
                        return
                    ready.clear()
                    poses = [int(part.split()[1]) for part in box.take() if isinstance(part, bytes)]
                    if len(poses) > 1 or poses != sorted(poses) or (observed and poses and poses[0] <= observed[-1]):
                        faults.append((observed, poses))
                    observed += poses
                    for number in poses:
                        box.acknowledge(number)
                if random.random() < 0.5:
                    box.detach(ready.set)

        working, reading = threading.Thread(target=studio), threading.Thread(target=pages)
        working.start()
        reading.start()
        reading.join(60)
        end.set()
        working.join(60)
        assert faults == []
        assert not reading.is_alive()


class TestInbox:
    def test_order_is_kept(self):
        box = Inbox()
        actions = [{"do": "undo"}, move(phase="start"), move(serial=1), move("b"), move(phase="end"), {"do": "redo"}]
        for action in actions:
            box.put(action)
        assert len(box) == 6
        assert box.take(0) == actions
        assert box.take(0) == []

    def test_of_one_gizmos_moves_the_newest_only(self):
        box = Inbox()
        for serial in range(10_000):
            box.put(move(serial=serial))
        assert box.take(0) == [move(serial=9_999)]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (move("a"), move("b")),
            (move("a"), {**move("a"), "do": "pole"}),
            (move("a"), move("a", phase="end")),
            (move("a", phase="start"), move("a")),
            (move("a", phase="end"), move("a", phase="end")),
            ({"do": "handle", "name": "a", "phase": "move"}, {"do": "handle", "name": "b", "phase": "move"}),
            ({"do": "step"}, {"do": "step"}),
        ],
    )
    def test_others_are_not_merged(self, first, second):
        box = Inbox()
        box.put(first)
        box.put(second)
        assert box.take(0) == [first, second]

    def test_waking(self):
        box = Inbox()
        box.interrupt_take()
        assert box.take(None) == []  # returns although nothing is there
        taken = []
        waiting = threading.Thread(target=lambda: taken.append(box.take(None)))
        waiting.start()
        box.put({"do": "undo"})
        waiting.join(30)
        assert taken == [[{"do": "undo"}]]

    def test_many_writers(self):
        box, taken = Inbox(), []
        writers = [
            threading.Thread(target=lambda i=i: [box.put({"do": "step", "n": (i, k)}) for k in range(500)])
            for i in range(4)
        ]
        for writer in writers:
            writer.start()
        while len(taken) < 2000:
            taken += box.take(30)
        for writer in writers:
            writer.join()
        for i in range(4):
            assert [action["n"][1] for action in taken if action["n"][0] == i] == list(range(500))

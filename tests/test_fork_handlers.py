"""What is registered for processes that are forked; that forks then work is tested in tests/contracts."""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict

import pytest
from numba.core.compiler_lock import global_compiler_lock

from poise.model.pose import Pose
from poise.runtime import fork_handlers


@pytest.fixture
def hooks(monkeypatch):
    """Lists of what survive_forks() asks the system to call, by when."""
    found = defaultdict(list)

    def register_at_fork(**given):
        for when, call in given.items():
            found[when].append(call)

    monkeypatch.setattr(os, "register_at_fork", register_at_fork, raising=False)
    fork_handlers.register_fork_handlers()
    return found


def call(hooks):
    for hook in hooks:
        hook()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cached properties have had no locks since Python 3.12")
def test_a_child_has_new_locks(hooks, monkeypatch):
    """A thread that is not forked holds the old one for ever."""
    held = threading.RLock()
    monkeypatch.setattr(vars(Pose)["local"], "lock", held)
    call(hooks["after_in_child"])
    assert vars(Pose)["local"].lock is not held


@pytest.mark.parametrize("whose", ["after_in_child", "after_in_parent"])
def test_no_process_forks_while_a_kernel_is_compiled(hooks, whose):
    """Compiling waits, too, until the fork is over, and goes on in both."""
    taken = threading.Event()

    def compiling():
        with global_compiler_lock:
            taken.set()

    call(hooks["before"])
    thread = threading.Thread(target=compiling, daemon=True)
    thread.start()
    assert not taken.wait(0.05)
    call(hooks[whose])
    assert taken.wait(10.0)
    thread.join()


def test_where_there_is_no_fork_nothing_is_registered(monkeypatch):
    monkeypatch.delattr(os, "register_at_fork", raising=False)
    fork_handlers.register_fork_handlers()

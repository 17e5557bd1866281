"""Options by name: what is said where there is no such option."""

from __future__ import annotations

import pytest

import poise


def test_an_option_that_is_unknown_is_answered_by_all_options():
    with pytest.raises(poise.UnknownNameError, match="no option of CCD 'colour'; options: iterations, "):
        poise.CCD(colour=3)

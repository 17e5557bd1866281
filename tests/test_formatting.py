"""Numbers and times as people read them."""

from __future__ import annotations

import math

import pytest

from poise.formatting import format_number, format_size, format_time


@pytest.mark.parametrize(
    ("value", "digits", "size", "text"),
    [
        (9.765e-17, 4, 1.0, "0"),
        (-9.765e-17, 4, 1.0, "0"),
        (-0.0, 4, 1.0, "0"),
        (1e-11, 4, 1.0, "1e-11"),
        (1e-11, 4, 100.0, "0"),
        (0.11484, 3, 1.0, "0.115"),
        (-2.5, 4, 1.0, "-2.5"),
        (math.nan, 4, 1.0, "nan"),
        (math.inf, 4, 1.0, "inf"),
    ],
)
def test_a_number_of_rounding_size_is_written_as_zero(value, digits, size, text):
    assert format_number(value, digits, size) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0"),
        (0.8371, 2, "0.84"),
        (41.52, 3, "41.5"),
        (-147.3, 3, "-147"),
        (110.4, 2, "110"),
        (999.6, 3, "1,000"),
        (1628.4, 3, "1,628"),
        (math.nan, 3, "nan"),
    ],
)
def test_a_large_size_has_no_exponent(value, digits, text):
    assert format_size(value, digits) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 us"),
        (3e-7, "0.3 us"),
        (2.64e-5, "26 us"),
        (9.96e-5, "0.1 ms"),
        (4.8e-4, "0.48 ms"),
        (0.0123, "12 ms"),
        (0.5366, "540 ms"),
        (0.999, "1 s"),
        (3.26, "3.3 s"),
        (123.4, "120 s"),
    ],
)
def test_a_time_has_two_digits_and_the_unit_that_fits(seconds, text):
    assert format_time(seconds) == text

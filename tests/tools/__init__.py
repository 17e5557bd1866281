"""Tests of the tools of the test suite."""

"""Inputs of a command: goals, targets, rigs, contacts."""

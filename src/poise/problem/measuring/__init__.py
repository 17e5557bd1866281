"""Errors of goals, and their dependence on the degrees of freedom."""

"""Support of public functions: argument checks, progress bars, old names.

`argument_checks` checks texts, names, collections and options with helpful errors; `maths/arrays.py` checks numbers.
`progress` reports the progress of a long call, `old_names` makes aliases of renamed functions, and `late_binding`
holds functions of higher packages.
"""

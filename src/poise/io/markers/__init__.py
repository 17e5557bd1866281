"""Marker files: points over time, without a skeleton.

`markers` has the class and `load_markers`; `c3d` and `trc` read one format each.
"""

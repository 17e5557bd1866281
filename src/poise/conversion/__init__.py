"""Conversion of rigs and clips between file formats.

`convert` loads a rig, selects clips, converts units, axes, names and times for the new format, writes the files, reads
them back and lists the losses. `rig_edits` has the changes of a rig that this needs.
"""

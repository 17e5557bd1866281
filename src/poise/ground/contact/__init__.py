"""Contacts of feet with the ground: soles, contacts, plants, files.

`soles.py` finds heel, ball and tip of each foot, `contacts.py` when they are in contact, `plants.py` where a foot
stands in each stance, and `edges.py` how a sole lies over the edge of a step. `in_place.py` finds the velocity of clips
without root motion, `cyclic.py` extends looping clips at both ends, `planted_clips.py` detects clips already planted on
the terrain, `pivots.py` the points about which their feet turn, and `contact_files.py` reads and writes contacts as
intervals.
"""

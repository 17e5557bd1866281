"""Smoothing of acceleration spikes over the frames around them.

`spread.py` splits a clip into independent strips of frames and moves pelvis and feet by the least that removes the
spikes; `strip.py` computes legs and soles of a strip after such moves. kernels/ground/spread.py solves the least
squares problem.
"""

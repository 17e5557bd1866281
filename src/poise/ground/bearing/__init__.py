"""Bearing: what else than feet touches the ground, and bears: hands, elbows, knees and hips."""

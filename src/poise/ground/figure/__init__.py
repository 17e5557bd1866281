"""What the ground needs to know of a figure: its legs, their motion in metres with z up, its speeds and cycles."""

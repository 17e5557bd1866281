"""Robot motion as trainers read it: the root's place and rotation and a value for each joint, frame by frame."""

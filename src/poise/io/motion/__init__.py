"""Robot motion: root position, root rotation and joint values per frame."""

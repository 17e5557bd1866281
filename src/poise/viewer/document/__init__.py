"""What is being worked on in the viewer, as frozen values, and the actions that change it."""

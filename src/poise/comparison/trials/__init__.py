"""What every method is asked, and how it is run: tasks, targets, turns."""

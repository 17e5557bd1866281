"""What pops is spread over the frames around it: moves of pelvis and feet that leave no change of step too large."""

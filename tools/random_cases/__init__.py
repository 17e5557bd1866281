"""Random problems, made and judged without Poise's own kinematics: trees, goals, a forward kinematics, checks."""

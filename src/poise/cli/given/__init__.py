"""What a command is given: words that become goals, targets, rigs, contacts."""

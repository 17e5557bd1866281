"""What the mutations are: the rooms, the mutants of a file, the tests that meet a line, one trial."""

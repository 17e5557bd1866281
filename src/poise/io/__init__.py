"""Files: formats/ has one module per format, and the parts of each stand in a folder beside it."""

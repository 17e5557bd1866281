"""Files that the page sends, received into a folder of their own."""

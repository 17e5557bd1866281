"""What the files of the folder above share."""

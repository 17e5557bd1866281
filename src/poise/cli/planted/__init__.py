"""What `poise plant` and `poise lock` do: with one clip, and with every clip of a file."""

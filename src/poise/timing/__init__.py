"""Call timing."""

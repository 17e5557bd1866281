"""Reader and columns of joint values."""

"""Parts of the reader and writer of joint values."""

"""The legs of figures on two legs, on four and on more."""

"""Strides that fit: steps made shorter, or a little longer, so that no foot climbs two treads at once."""

"""Runtime support: version number, immutable values and fork handlers."""

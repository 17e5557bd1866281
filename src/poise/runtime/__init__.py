"""Runtime support: version, immutable values, result cache, fork handlers."""

"""The ground that figures stand on."""

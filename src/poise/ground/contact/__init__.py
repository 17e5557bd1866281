"""Where feet touch the ground: soles, contacts, plants, and contacts in files."""

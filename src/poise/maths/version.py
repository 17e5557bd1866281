"""Version of Poise. The metadata of the package reads it here."""

__version__ = "0.2.0"

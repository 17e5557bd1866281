"""Version number of Poise. The build reads it for the metadata of the package."""

__version__ = "0.2.0"

"""Version number of Poise, read by the build for the metadata of the package."""

__version__ = "0.2.0"

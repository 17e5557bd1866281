"""Parts of the URDF reader and writer."""

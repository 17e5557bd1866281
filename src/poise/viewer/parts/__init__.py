"""What the page is given to draw: meshes as one GLB, bones, frames."""

"""Parts of the BVH reader and writer."""

"""A small server that keeps the objects of plugins in a folder, as a storage gateway would."""

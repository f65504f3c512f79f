"""Pictures of the wires: SVG that is computed from the tables of ``wire`` and the corpus; the same in a page and as a file."""

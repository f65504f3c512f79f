"""Pictures of the wires: SVG that is computed from the tables of ``wire`` and the corpus, the same in a page and in a file of its own."""

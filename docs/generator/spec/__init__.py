"""What is generated in the specification: tables from ``wire`` and the corpus, examples with real bytes, an index.

A page of ``docs/spec`` is written by hand, and holds marks between which a program writes (:mod:`docs.generator.spec.marks`).
"""

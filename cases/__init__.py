"""The conformance matrix: one module per topic. Run it with ``lmconform run``, or ``pytest --pyargs cases``."""

"""What makes the documentation: generated pages, links that lead out of ``docs``, and their check.

``python -m docs.generator`` writes every generated page anew; ``mkdocs build`` makes the site (``mkdocs.yml``).
"""

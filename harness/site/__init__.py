"""Gathers what the site shows; ``reports.site`` makes the pages."""

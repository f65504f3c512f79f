"""A run as a page: in Markdown for a job summary, and as one HTML file."""

"""What one capture shows about its release, inferred from the captured bytes alone."""

"""What became of the cases of one run in another, such as that of a pull request."""

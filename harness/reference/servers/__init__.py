"""Reference servers: each does what every server must, and what a robust one should."""

"""The kill matrix as a value, and what people and programs read of it."""

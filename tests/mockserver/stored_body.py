"""What a stocked server holds."""

BODY = b"0123456789abcdefghij"
"""The payload under the key that raw clients use."""

"""Errors that every codec of this package raises."""


class WireError(ValueError):
    """Base of the errors below; the message names the value, what was expected, and where."""


class EncodeError(WireError):
    """A value cannot be expressed on the wire of this release."""


class DecodeError(WireError):
    """Bytes or text are not a legal message of this release."""


class UnknownReleaseError(WireError):
    """A release that no table of this package covers."""

"""Errors of the fixture generator."""


class EnvironmentUnavailable(Exception):
    """A pinned environment cannot be made or used; the message says what is missing and what to do."""


class CorpusError(Exception):
    """A corpus file is missing, damaged or edited; the message names it."""


class CaptureError(Exception):
    """The real lmcache did something that a capture cannot record faithfully; the message says what."""

"""The release that a pure operation names: any, and what this one does is the answer, but it must be one."""

import re

from outcomes import Refused

RELEASE = re.compile(r"[0-9]+(\.[0-9]+)+(\.post[0-9]+)?")


def require_release(text):
    if not RELEASE.fullmatch(text):
        raise Refused(f"{text!r} is no release of lmcache")

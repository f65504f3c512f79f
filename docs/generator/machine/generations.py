"""Generations of the ``lm://`` wire: runs of releases that neither a header nor a key string tells apart."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from wire.keys import KEY_GRAMMARS, KeyGrammar
from wire.lm.profile import HEADER_LAYOUTS, HIGHEST_FORMATS, METADATA_GROUPS, SHORT_SHAPES, STRICT_ENUMS, LmProfile, lm_profile
from wire.release import KNOWN_RELEASES, Release, ReleaseRange


@dataclass(frozen=True)
class Generation:
    """Releases with the same frames and key strings."""

    releases: ReleaseRange
    profile: LmProfile
    keys: KeyGrammar

    @property
    def slug(self) -> str:
        """Its first release as part of a name: ``0_3_9_post1``."""
        return str(self.releases.first).replace(".", "_")

    @property
    def dtype_names(self) -> dict[str, str]:
        """Name in a key to the torch names that are written so, with a word between them."""
        found: dict[str, str] = {}
        for dtype, name in (self.keys.dtype_names or {}).items():
            found[name] = f"{found[name]} or {dtype}" if name in found else dtype
        return found


@functools.cache
def generations() -> tuple[Generation, ...]:
    """Every generation, oldest first; one begins where a row of any table does."""
    tables = (HEADER_LAYOUTS, HIGHEST_FORMATS, STRICT_ENUMS, SHORT_SHAPES, METADATA_GROUPS, KEY_GRAMMARS)
    firsts = sorted({where.first for table in tables for where, _ in table.rows()})
    known = [Release.parse(text) for text in KNOWN_RELEASES]
    lasts = [max(release for release in known if release < following) for following in firsts[1:]]
    return tuple(
        Generation(ReleaseRange(first, last), lm_profile(first), KEY_GRAMMARS[first])
        for first, last in zip(firsts, [*lasts, None], strict=True)
    )


def _in_conversation(generation: Generation) -> tuple[object, ...]:
    profile = generation.profile
    return profile.header, profile.highest_format, profile.strict_enums, profile.short_shapes, generation.keys


@functools.cache
def conversation_generations() -> tuple[Generation, ...]:
    """The generations without what no conversation shows, the groups of RemoteMetadata."""
    found: list[Generation] = []
    for one in generations():
        if found and _in_conversation(found[-1]) == _in_conversation(one):
            found[-1] = replace(found[-1], releases=ReleaseRange(found[-1].releases.first, one.releases.last))
        else:
            found.append(one)
    return tuple(found)


def generation_of(release: Release) -> Generation:
    """The generation of a release."""
    return next(one for one in generations() if release in one.releases)

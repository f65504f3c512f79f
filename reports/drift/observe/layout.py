"""Where each field stands in a frame, inferred from encoded frames: which bytes follow which value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Value = int | str | None
"""What a field carries: a number, or a name that the wire writes as a number."""
ByteOrder = Literal["little", "big"]

NUMBER_WIDTHS: Final = (8, 4, 2)
NAME_WIDTHS: Final = (4, 2, 1)


@dataclass(frozen=True)
class Sample:
    """One frame that the real encoder wrote: the values that went in, the key string if any, the bytes that came out."""

    values: Mapping[str, Value]
    data: bytes
    key: str | None = None


@dataclass(frozen=True)
class Place:
    """Where a field stands."""

    name: str
    offset: int
    width: int

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.width


@dataclass(frozen=True)
class Filler:
    """Bytes that no known value explains: always the same (``data``), or of unknown meaning (``data`` is None)."""

    offset: int
    width: int
    data: bytes | None


@dataclass(frozen=True)
class Layout:
    """A frame of fixed size: fields at fixed offsets, and for requests a key field that is padded on the right."""

    size: int
    byte_order: ByteOrder
    fields: tuple[Place, ...]
    """In order of offset, the key field included under the name ``key``."""
    fillers: tuple[Filler, ...] = ()
    padding: bytes = b" "

    def __contains__(self, name: str) -> bool:
        return any(place.name == name for place in self.fields)

    def place(self, name: str) -> Place | None:
        """Where a field stands; None if the frame does not carry it."""
        return next((place for place in self.fields if place.name == name), None)

    def numbers(self, data: bytes) -> dict[str, int]:
        """The fields of a frame as numbers, the key left out."""
        return {
            place.name: int.from_bytes(data[place.offset : place.end], self.byte_order, signed=True)
            for place in self.fields
            if place.name != "key"
        }

    def key(self, data: bytes) -> bytes | None:
        """The key field with its padding; None if the frame has none."""
        place = self.place("key")
        return None if place is None else data[place.offset : place.end]

    def encode(self, numbers: Mapping[str, int], key: bytes | None = None) -> bytes | None:
        """A frame; None where a number or the key does not fit, or a filler has no known value."""
        made = bytearray(self.size)
        for filler in self.fillers:
            if filler.data is None:
                return None
            made[filler.offset : filler.offset + filler.width] = filler.data
        for place in self.fields:
            if place.name == "key":
                if key is None or len(key) > place.width:
                    return None
                made[place.offset : place.end] = key.ljust(place.width, self.padding)
                continue
            try:
                made[place.offset : place.end] = numbers[place.name].to_bytes(place.width, self.byte_order, signed=True)
            except OverflowError:
                return None
        return bytes(made)


def infer_layout(samples: Sequence[Sample], known: Mapping[str, Mapping[Value, int]] | None = None) -> Layout | None:
    """The layout that all samples share; None if they differ in size or too few of their values can be found.

    ``known`` gives numbers that names are known to have, by the field's name up to a dot; it decides where samples alone cannot.
    """
    if not samples or len({len(sample.data) for sample in samples}) != 1:
        return None
    guesses = [_infer(samples, order, known or {}) for order in ("little", "big")]
    return max(guesses, key=lambda guess: (len(guess.fields), -len(guess.fillers)))


def name_numbers(samples: Sequence[Sample], layout: Layout, name: str) -> dict[Value, int]:
    """The number that each name of a field is written as."""
    place = layout.place(name)
    if place is None:
        return {}
    return {sample.values[name]: layout.numbers(sample.data)[name] for sample in samples if name in sample.values}


def _infer(samples: Sequence[Sample], order: ByteOrder, known: Mapping[str, Mapping[Value, int]]) -> Layout:
    size = len(samples[0].data)
    key, padding = _key_place(samples)
    claimed = {key.name: key} if key else {}
    names = list(samples[0].values)
    numeric = [name for name in names if all(isinstance(sample.values[name], int) for sample in samples)]
    for name in numeric:
        place = _number_place(samples, name, order, size, claimed)
        if place:
            claimed[name] = place
    for name in names:
        if name not in numeric:
            place = _name_place(samples, name, order, size, claimed, known.get(name.rpartition(".")[2], {}))
            if place:
                claimed[name] = place
    fields = tuple(sorted(claimed.values(), key=lambda place: place.offset))
    return Layout(size, order, fields, tuple(_fillers(samples, fields, size)), padding)


def _key_place(samples: Sequence[Sample]) -> tuple[Place | None, bytes]:
    """The field that holds the key string, and the byte that pads it."""
    keys = [(sample.key.encode(), sample.data) for sample in samples if sample.key is not None]
    if not keys or len(keys) != len(samples):
        return None, b" "
    text, data = keys[0]
    offset = data.find(text)
    if offset < 0 or any(data[offset : offset + len(text)] != text for text, data in keys):
        return None, b" "
    shortest, holder = min(keys, key=lambda pair: len(pair[0]))
    padding = holder[offset + len(shortest) : offset + len(shortest) + 1] or b" "
    ends = [_run_end(data, offset + len(text), padding[0]) for text, data in keys]
    return Place("key", offset, min(ends) - offset), padding


def _run_end(data: bytes, start: int, byte: int) -> int:
    return next((place for place in range(start, len(data)) if data[place] != byte), len(data))


def _free(size: int, width: int, claimed: Mapping[str, Place]) -> Iterator[int]:
    taken = {place for field in claimed.values() for place in range(field.offset, field.end)}
    for offset in range(size - width + 1):
        if taken.isdisjoint(range(offset, offset + width)):
            yield offset


def _number_place(
    samples: Sequence[Sample], name: str, order: ByteOrder, size: int, claimed: Mapping[str, Place]
) -> Place | None:
    """The widest stretch that equals the value in every sample."""
    values = [sample.values[name] for sample in samples]
    if len(set(values)) == 1 and values[0] == 0:
        return None
    for width in NUMBER_WIDTHS:
        for offset in _free(size, width, claimed):
            if all(
                int.from_bytes(sample.data[offset : offset + width], order, signed=True) == value
                for sample, value in zip(samples, values, strict=True)
            ):
                return Place(name, offset, width)
    return None


def _name_place(
    samples: Sequence[Sample],
    name: str,
    order: ByteOrder,
    size: int,
    claimed: Mapping[str, Place],
    known: Mapping[Value, int],
) -> Place | None:
    """The stretch that is a function of the name; of several, that with most values, then that with the smallest."""
    names = [sample.values[name] for sample in samples]
    if len(set(names)) == 1 and names[0] not in known:
        return None
    best: tuple[int, int, int] | None = None
    found: Place | None = None
    for width in NAME_WIDTHS:
        for offset in _free(size, width, claimed):
            numbers = _as_function(samples, names, offset, width, order, known)
            if numbers is None:
                continue
            score = (-len(set(numbers.values())), sum(map(abs, numbers.values())), offset)
            if best is None or score < best:
                best, found = score, Place(name, offset, width)
        if found:
            return found
    return None


def _as_function(
    samples: Sequence[Sample],
    names: Sequence[Value],
    offset: int,
    width: int,
    order: ByteOrder,
    known: Mapping[Value, int],
) -> dict[Value, int] | None:
    numbers: dict[Value, int] = {}
    for sample, name in zip(samples, names, strict=True):
        number = int.from_bytes(sample.data[offset : offset + width], order, signed=True)
        if numbers.setdefault(name, number) != number or known.get(name, number) != number:
            return None
    return numbers if len(set(numbers.values())) > 1 or set(names) <= set(known) else None


def _fillers(samples: Sequence[Sample], fields: Sequence[Place], size: int) -> Iterator[Filler]:
    """Stretches between the fields, cut into pieces of four bytes."""
    edges = [0, *(edge for place in fields for edge in (place.offset, place.end)), size]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for offset in range(start, end, 4):
            width = min(4, end - offset)
            seen = {sample.data[offset : offset + width] for sample in samples}
            yield Filler(offset, width, seen.pop() if len(seen) == 1 else None)

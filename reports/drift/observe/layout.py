"""Where each field stands in a frame, inferred from encoded frames: which bytes follow which value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Value = int | str | None
"""What a field carries: a number, or a name that the wire writes as a number."""
ByteOrder = Literal["little", "big"]

NUMBER_WIDTHS: Final[Sequence[int]] = (8, 4)
NAME_WIDTHS: Final[Sequence[int]] = (4,)
NARROW_WIDTHS: Final[Sequence[int]] = (2, 1)
"""Looked for last: two bytes of a wider field often look like a field of their own."""
MOST: Final = 0.8
"""The share of samples that must agree; the rest are exceptions, which are reported one by one."""


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
    """The layout that the samples share; None if they differ in size or none of their values can be found.

    ``known`` gives numbers that names are known to have, by the field's name behind the dot; it decides where samples cannot.
    A field is looked for where all samples agree, then where most do: those that do not are left to be told apart one by one.
    """
    sizes = Counter(len(sample.data) for sample in samples)
    if not sizes:
        return None
    size, number = sizes.most_common(1)[0]
    if number < MOST * len(samples):
        return None
    usual = [sample for sample in samples if len(sample.data) == size]
    guesses = [_infer(usual, order, known or {}) for order in ("little", "big")]
    return max(guesses, key=lambda guess: (len(guess.fields), -len(guess.fillers)))


def name_numbers(samples: Sequence[Sample], layout: Layout, name: str) -> dict[Value, int]:
    """The number that each name of a field is written as, most of the time."""
    found: dict[Value, Counter[int]] = {}
    for sample in samples:
        if name in sample.values and len(sample.data) == layout.size:
            found.setdefault(sample.values[name], Counter())[layout.numbers(sample.data)[name]] += 1
    return {value: numbers.most_common(1)[0][0] for value, numbers in found.items()}


def _infer(samples: Sequence[Sample], order: ByteOrder, known: Mapping[str, Mapping[Value, int]]) -> Layout:
    size = len(samples[0].data)
    key, padding = _key_place(samples)
    claimed = {key.name: key} if key else {}
    names = list(samples[0].values)
    numeric = [name for name in names if all(isinstance(sample.values[name], int) for sample in samples)]
    others = [name for name in names if name not in numeric]
    for share, narrow in ((1.0, False), (MOST, False), (1.0, True)):
        needed = share * len(samples)
        for name in [name for name in numeric if name not in claimed]:
            widths = NARROW_WIDTHS if narrow else NUMBER_WIDTHS
            place = _number_place(samples, name, order, _free(size, claimed), widths, needed)
            if place:
                claimed[name] = place
        for name in [name for name in others if name not in claimed]:
            widths = NARROW_WIDTHS if narrow else NAME_WIDTHS
            numbers = known.get(name.rpartition(".")[2], {})
            place = _name_place(samples, name, order, _free(size, claimed), widths, numbers, needed)
            if place:
                claimed[name] = place
    fields = tuple(sorted(claimed.values(), key=lambda place: place.offset))
    return Layout(size, order, fields, tuple(_fillers(samples, fields, size)), padding)


def _key_place(samples: Sequence[Sample]) -> tuple[Place | None, bytes]:
    """The field that holds the key string in most samples, and the byte that pads it."""
    keys = [(sample.key.encode(), sample.data) for sample in samples if sample.key is not None]
    offsets = Counter(data.find(text) for text, data in keys)
    if not keys or len(keys) != len(samples):
        return None, b" "
    offset, number = offsets.most_common(1)[0]
    if offset < 0 or number < MOST * len(keys):
        return None, b" "
    usual = [(text, data) for text, data in keys if data[offset : offset + len(text)] == text]
    shortest, holder = min(usual, key=lambda pair: len(pair[0]))
    padding = holder[offset + len(shortest) : offset + len(shortest) + 1] or b" "
    ends = Counter(_run_end(data, offset + len(text), padding[0]) for text, data in usual)
    return Place("key", offset, ends.most_common(1)[0][0] - offset), padding


def _run_end(data: bytes, start: int, byte: int) -> int:
    return next((place for place in range(start, len(data)) if data[place] != byte), len(data))


Free = Callable[[int], Iterator[int]]
"""Width to the offsets at which so many bytes belong to no field yet."""


def _free(size: int, claimed: Mapping[str, Place]) -> Free:
    taken = {place for field in claimed.values() for place in range(field.offset, field.end)}

    def offsets(width: int) -> Iterator[int]:
        return (offset for offset in range(size - width + 1) if taken.isdisjoint(range(offset, offset + width)))

    return offsets


def _number_place(
    samples: Sequence[Sample], name: str, order: ByteOrder, free: Free, widths: Sequence[int], needed: float
) -> Place | None:
    """The widest stretch that equals the value in enough samples."""
    if all(sample.values[name] == 0 for sample in samples):
        return None
    for width in widths:
        for offset in free(width):
            allowed = len(samples) - needed
            for sample in samples:
                allowed -= _number(sample, offset, width, order) != sample.values[name]
                if allowed < 0:
                    break
            else:
                return Place(name, offset, width)
    return None


def _number(sample: Sample, offset: int, width: int, order: ByteOrder) -> int:
    return int.from_bytes(sample.data[offset : offset + width], order, signed=True)


def _name_place(
    samples: Sequence[Sample],
    name: str,
    order: ByteOrder,
    free: Free,
    widths: Sequence[int],
    known: Mapping[Value, int],
    needed: float,
) -> Place | None:
    """The stretch that follows the name in enough samples; of several that with most values, then that with the smallest."""
    names = {sample.values[name] for sample in samples}
    if len(names) == 1 and not names <= known.keys():
        return None
    for width in widths:
        found: list[tuple[int, int, int]] = []
        for offset in free(width):
            numbers = _following(samples, name, offset, width, order, known, needed)
            if numbers and (len(set(numbers.values())) > 1 or names <= known.keys()):
                found.append((-len(set(numbers.values())), sum(map(abs, numbers.values())), offset))
        if found:
            return Place(name, min(found)[2], width)
    return None


def _following(
    samples: Sequence[Sample],
    name: str,
    offset: int,
    width: int,
    order: ByteOrder,
    known: Mapping[Value, int],
    needed: float,
) -> dict[Value, int] | None:
    """The usual number of each name at a place; None if too many samples have another one."""
    if needed == len(samples):
        return _following_always(samples, name, offset, width, order, known)
    images: dict[Value, Counter[int]] = {}
    for sample in samples:
        images.setdefault(sample.values[name], Counter())[_number(sample, offset, width, order)] += 1
    numbers = {value: known.get(value, counter.most_common(1)[0][0]) for value, counter in images.items()}
    agreeing = sum(counter[numbers[value]] for value, counter in images.items())
    return numbers if agreeing >= needed else None


def _following_always(
    samples: Sequence[Sample], name: str, offset: int, width: int, order: ByteOrder, known: Mapping[Value, int]
) -> dict[Value, int] | None:
    """The number of each name at a place; None at the first sample that has another one, which is soon at most places."""
    numbers: dict[Value, int] = {}
    for sample in samples:
        value, number = sample.values[name], _number(sample, offset, width, order)
        if numbers.setdefault(value, known.get(value, number)) != number:
            return None
    return numbers


def _fillers(samples: Sequence[Sample], fields: Sequence[Place], size: int) -> Iterator[Filler]:
    """Stretches between the fields, cut into pieces of four bytes."""
    edges = [0, *(edge for place in fields for edge in (place.offset, place.end)), size]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        for offset in range(start, end, 4):
            width = min(4, end - offset)
            seen = {sample.data[offset : offset + width] for sample in samples}
            yield Filler(offset, width, seen.pop() if len(seen) == 1 else None)

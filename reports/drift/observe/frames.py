"""How a release writes and reads one kind of frame: layout, numbers of names, shapes; inferred from encoded and decoded frames.

Kinds are ``request``, ``reply`` and ``metadata`` with a number of groups. A value of a frame is addressed by a flat name:
``length``, ``format``, ``shape2``; in metadata ``group1.dtype``, ``group1.shape0``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fixturegen.vector import Vector, canonical, raw
from reports.drift.observe.evidence import Evidence
from reports.drift.observe.keyreading import KeyReader
from reports.drift.observe.keystring import KeyString
from reports.drift.observe.layout import Layout, Place, Sample, Value, infer_layout, name_numbers

Names = Mapping[str, Mapping[Value, int]]
"""Subject (command, code, format, dtype, location) to the number of each name."""

SUBJECTS: Final = ("command", "code", "format", "dtype", "location")
"""Fields that carry a name as a number."""


@dataclass(frozen=True)
class Kind:
    """A kind of frame and the operations that show it."""

    name: str
    encode: str
    decode: str
    groups: int = 0
    """Groups of a metadata frame; 0 for headers."""

    def asked(self, vector: Vector) -> bool:
        """Whether a vector is about this kind."""
        if not self.groups:
            return vector.op in {self.encode, self.decode}
        count = vector.args.get("groups")
        return self.groups == (len(count) if isinstance(count, list) else count)


REQUEST: Final = Kind("request", "encode_request", "decode_request")
REPLY: Final = Kind("reply", "encode_reply", "decode_reply")


def metadata_kind(groups: int) -> Kind:
    """Metadata with so many groups."""
    return Kind(f"metadata with {groups} group{'s' if groups > 1 else ''}", "encode_metadata", "decode_metadata", groups)


@dataclass(frozen=True)
class Stripping:
    """What a decoder makes of trailing zeros in a shape, format by format."""

    stripped: frozenset[Value]
    kept: frozenset[Value]


@dataclass(frozen=True)
class Frames:
    """One kind of frame as a release writes and reads it."""

    kind: Kind
    layout: Layout
    written: Names
    refused_names: Mapping[str, frozenset[Value]]
    ranks: Mapping[int, bool]
    """Number of dimensions to whether the encoder takes it."""
    read: Mapping[str, Mapping[int, Value]]
    """Subject to what the decoder makes of each number that it takes."""
    refused_numbers: Mapping[str, frozenset[int]]
    stripping: Stripping
    longer_taken: bool
    """The decoder takes bytes behind the frame."""
    strings: KeyString | None
    reader: KeyReader | None

    def encode(self, args: Mapping[str, Any]) -> bytes | None:
        """The frame that the real encoder writes for the arguments of a vector; None if it refuses."""
        values, ranks = flatten(args, self.dims)
        if not all(self.ranks.get(rank, False) for rank in ranks):
            return None
        numbers: dict[str, int] = {}
        for name, value in values.items():
            subject = subject_of(name)
            if subject in SUBJECTS:
                number = self.written.get(subject, {}).get(value)
                if number is None and name in self.layout:
                    return None
                numbers[name] = number or 0
            else:
                numbers[name] = int(value or 0)
        if any(place.name not in numbers and place.name != "key" for place in self.layout.fields):
            return None
        text = self.strings.write(args["key"]) if self.strings and "key" in args else None
        return self.layout.encode(numbers, None if text is None else text.encode())

    def decode(self, data: bytes) -> dict[str, Any] | None:
        """What the real decoder makes of a frame, as the members of its answer; None if it refuses."""
        if len(data) < self.layout.size or (len(data) > self.layout.size and not self.longer_taken):
            return None
        values = self.named(data)
        if values is None:
            return None
        found = unflatten(values, self.dims, self.strip)
        raw_key = self.layout.key(data)
        if raw_key is not None:
            key = self.key_of(raw_key)
            if key is None:
                return None
            found["key"] = key
        return found

    def key_of(self, field: bytes) -> dict[str, Any] | None:
        """The key in a key field; None if the reader refuses it."""
        try:
            text = field.decode()
        except UnicodeDecodeError:
            return None
        return self.reader.read(text) if self.reader else None

    def named(self, data: bytes) -> dict[str, Value] | None:
        """The fields of a frame with names for numbers; None if a number has none."""
        values: dict[str, Value] = {}
        for name, number in self.layout.numbers(data).items():
            subject = subject_of(name)
            if subject in SUBJECTS:
                table = self.read.get(subject, {})
                if number not in table:
                    return None
                values[name] = table[number]
            else:
                values[name] = number
        return values

    def strip(self, shape: Sequence[int], format_name: Value) -> list[int]:
        """The shape that the decoder reports for the dimensions of a frame."""
        dims = list(shape)
        while format_name in self.stripping.stripped and len(dims) > 1 and dims[-1] == 0:
            dims.pop()
        return dims

    @property
    def dims(self) -> int:
        """How many dimensions a shape has in the frame."""
        return max(sum(place.name.startswith(prefix + "shape") for place in self.layout.fields) for prefix in ("", "group0."))

    def reproduces(self, vector: Vector) -> bool:
        """Whether the captured outcome of a vector is what these rules give."""
        if vector.op == self.kind.encode:
            made = self.encode(vector.args)
            return made == (None if vector.ok is None else raw(vector.ok["bytes"]))
        return self.decode(raw(vector.args["bytes"])) == vector.ok


def subject_of(name: str) -> str:
    """The field's name without its group."""
    return name.rpartition(".")[2]


def flatten(values: Mapping[str, Any], dims: int) -> tuple[dict[str, Value], list[int]]:
    """The values of an encoder's arguments by flat name, shapes filled with zeros; and the rank of each shape."""
    found: dict[str, Value] = {name: value for name, value in values.items() if name not in {"key", "shape", "groups"}}
    parts = [("", values)] if "shape" in values else [(f"group{i}.", group) for i, group in enumerate(values["groups"])]
    ranks = []
    for prefix, part in parts:
        if prefix:
            found[f"{prefix}dtype"] = part["dtype"]
        ranks.append(len(part["shape"]))
        for index in range(max(dims, len(part["shape"]))):
            found[f"{prefix}shape{index}"] = part["shape"][index] if index < len(part["shape"]) else 0
    return found, ranks


def unflatten(values: Mapping[str, Value], dims: int, strip: Any) -> dict[str, Any]:
    """The members of a decoder's answer."""
    groups = sorted({name.partition(".")[0] for name in values if "." in name})
    found: dict[str, Any] = {name: value for name, value in values.items() if "." not in name and not name.startswith("shape")}
    if not groups:
        found["shape"] = strip([values.get(f"shape{index}") for index in range(dims)], values.get("format"))
        found.setdefault("location", None)
        return found
    found["groups"] = [
        {
            "dtype": values.get(f"{group}.dtype"),
            "shape": strip([values.get(f"{group}.shape{index}") for index in range(dims)], values.get("format")),
        }
        for group in groups
    ]
    return found


def infer_frames(
    evidence: Evidence, kind: Kind, strings: KeyString | None, reader: KeyReader | None, single: Frames | None = None
) -> Frames | None:
    """The rules that the captured frames of a kind follow; None if no layout can be found.

    ``single`` is the frame of one group, for kinds with more: few of those were captured, so that its numbers and offsets help.
    """
    encoded = [vector for vector in evidence.of(kind.encode) if kind.asked(vector)]
    samples = list(_samples(evidence, encoded, strings))
    known = single.written if single else {}
    layout = (_repeated(single.layout, kind.groups, samples) if single else None) or infer_layout(samples, known)
    if layout is None or not layout.fields:
        return None
    written: dict[str, dict[Value, int]] = {subject: dict(numbers) for subject, numbers in known.items()}
    for place in layout.fields:
        if subject_of(place.name) in SUBJECTS:
            written.setdefault(subject_of(place.name), {}).update(name_numbers(samples, layout, place.name))
    decoded = [vector for vector in evidence.of(kind.decode) if kind.asked(vector)]
    read, refused, stripping = _reading(decoded, layout)
    return Frames(
        kind=kind,
        layout=layout,
        written=written,
        refused_names=_refused_names(encoded, written),
        ranks=_ranks(encoded, written),
        read=read,
        refused_numbers=refused,
        stripping=stripping,
        longer_taken=any(v.ok is not None and len(raw(v.args["bytes"])) > layout.size for v in decoded),
        strings=strings,
        reader=reader,
    )


def _repeated(single: Layout, groups: int, samples: Sequence[Sample]) -> Layout | None:
    """The layout of one group with the fields of that group repeated behind each other, if the size of the samples says so."""
    repeated = [place for place in single.fields if place.name.startswith("group0.")]
    sizes = {len(sample.data) for sample in samples}
    stride = sum(place.width for place in repeated)
    if not repeated or sizes != {single.size + stride * (groups - 1)}:
        return None
    others = [place for place in single.fields if place not in repeated]
    more = [
        Place(place.name.replace("group0", f"group{index}"), place.offset + stride * index, place.width)
        for index in range(groups)
        for place in repeated
    ]
    fields = tuple(sorted([*others, *more], key=lambda place: place.offset))
    return replace(single, size=sizes.pop(), fields=fields)


def _samples(evidence: Evidence, encoded: Sequence[Vector], strings: KeyString | None) -> Iterator[Sample]:
    """Frames whose values are all there: shapes of full rank, and a key whose string is known."""
    texts = {canonical(vector.args["key"]): ok["text"] for vector, ok in evidence.answered("format_key")}
    answered = [(vector, vector.ok) for vector in encoded if vector.ok is not None]
    rank = max((len(shape) for vector, _ in answered for shape in _shapes(vector.args)), default=0)
    for vector, ok in answered:
        if any(len(shape) != rank for shape in _shapes(vector.args)):
            continue
        values, _ = flatten(vector.args, rank)
        key = vector.args.get("key")
        text = None if key is None else (strings.write(key) if strings else None) or texts.get(canonical(key))
        if key is None or text is not None:
            yield Sample(values, raw(ok["bytes"]), text)


def _shapes(args: Mapping[str, Any]) -> list[list[int]]:
    return [args["shape"]] if "shape" in args else [group["shape"] for group in args["groups"]]


def _refused_names(encoded: Sequence[Vector], written: Names) -> dict[str, frozenset[Value]]:
    """Names that were refused and that no captured frame carries."""
    found: dict[str, set[Value]] = {}
    for vector in encoded:
        if vector.ok is None:
            values, _ = flatten(vector.args, 0)
            for name, value in values.items():
                subject = subject_of(name)
                if subject in written and value not in written[subject]:
                    found.setdefault(subject, set()).add(value)
    return {subject: frozenset(names) for subject, names in found.items()}


def _ranks(encoded: Sequence[Vector], written: Names) -> dict[int, bool]:
    """Ranks with their fate, from vectors that give no other reason to refuse."""
    found: dict[int, bool] = {}
    for vector in encoded:
        values, ranks = flatten(vector.args, 0)
        innocent = all(value in written[subject_of(name)] for name, value in values.items() if subject_of(name) in written)
        for rank in ranks:
            if vector.ok is not None:
                found[rank] = True
            elif innocent and len(set(ranks)) == 1:
                found.setdefault(rank, False)
    return found


def _reading(
    decoded: Sequence[Vector], layout: Layout
) -> tuple[dict[str, dict[int, Value]], dict[str, frozenset[int]], Stripping]:
    """What the decoder makes of numbers and of trailing zeros, and the numbers that it refuses."""
    seen: dict[str, dict[int, Counter[Value]]] = {}
    stripped: set[Value] = set()
    kept: set[Value] = set()
    for vector in decoded:
        data = raw(vector.args["bytes"])
        if vector.ok is None or len(data) < layout.size:
            continue
        numbers = layout.numbers(data)
        parts = {"": vector.ok, **{f"group{i}.": group for i, group in enumerate(vector.ok.get("groups", ()))}}
        for name, number in numbers.items():
            answer = parts.get(name[: name.rfind(".") + 1], {})
            if subject_of(name) in SUBJECTS and subject_of(name) in answer:
                seen.setdefault(subject_of(name), {}).setdefault(number, Counter())[answer[subject_of(name)]] += 1
        for prefix, part in parts.items():
            dims = [number for name, number in numbers.items() if name.startswith(prefix + "shape")]
            if len(dims) > 1 and dims[-1] == 0 and "shape" in part:
                (kept if len(part["shape"]) == len(dims) else stripped).add(vector.ok["format"])
    read = {
        subject: {number: found.most_common(1)[0][0] for number, found in numbers.items()} for subject, numbers in seen.items()
    }
    return read, _refused_numbers(decoded, layout, read), Stripping(frozenset(stripped), frozenset(kept - stripped))


def _refused_numbers(
    decoded: Sequence[Vector], layout: Layout, read: Mapping[str, Mapping[int, Value]]
) -> dict[str, frozenset[int]]:
    """Numbers that alone are to blame for a refusal: all others of that frame are taken elsewhere."""
    found: dict[str, set[int]] = {}
    for vector in decoded:
        data = raw(vector.args["bytes"])
        if vector.ok is not None or len(data) != layout.size:
            continue
        named = [(subject_of(name), number) for name, number in layout.numbers(data).items() if subject_of(name) in SUBJECTS]
        suspects = {(subject, number) for subject, number in named if number not in read.get(subject, {})}
        if len(suspects) == 1:
            ((subject, number),) = suspects
            found.setdefault(subject, set()).add(number)
    return {subject: frozenset(numbers) for subject, numbers in found.items()}

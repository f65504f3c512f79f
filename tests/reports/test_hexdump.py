from __future__ import annotations

from rich.text import Text

from reports.diagnosis import FrameDump
from reports.hexdump import caption, hexdump, hexdump_pair


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


def test_cuts_and_marks() -> None:
    dump = FrameDump("got", b"Hello, wire!\x00\x01\x02\x03\x04\x05", cuts=(5, 16), marks=((7, 2), (17, 1)))
    assert plain(hexdump(dump)) == [
        "0000  48 65 6c 6c 6f|2c 20 77 69 72 65 21 00 01 02 03  Hello, wire!....",
        "                           ^^ ^^",
        "0010 |04 05                                            ..",
        "         ^^",
    ]


def test_a_cut_at_the_end_of_the_data_is_shown() -> None:
    assert plain(hexdump(FrameDump("got", b"ab", cuts=(2,)))) == ["0000  61 62|                                           ab"]


def test_offsets_count_from_the_start_of_the_frame() -> None:
    dump = FrameDump("got", bytes(16), offset=0xABCD0, marks=((0xABCD1, 1),), cuts=(0xABCD4,))
    first, marks = plain(hexdump(dump))
    assert first.startswith("abcd0  00 00 00 00|00")
    assert marks == "          ^^"


def test_repeated_rows_shrink_but_the_last_is_shown() -> None:
    lines = plain(hexdump(FrameDump("got", b" " * 160)))
    assert [line[:6] for line in lines] == ["0000  ", "*", "0090  "]


def test_marked_rows_never_shrink() -> None:
    lines = plain(hexdump(FrameDump("got", bytes(64), marks=((32, 1),))))
    assert [line[:4] for line in lines] == ["0000", "*", "0020", "    ", "0030"]


def test_a_huge_dump_is_cut() -> None:
    lines = plain(hexdump(FrameDump("got", bytes(range(256)) * 10)))
    assert len(lines) == 25
    assert lines[-1] == "... 2176 more bytes"


def test_no_bytes_is_told() -> None:
    assert plain(hexdump(FrameDump("got", b""))) == ["(no bytes)"]


def test_bytes_cannot_act_on_the_terminal() -> None:
    (line,) = plain(hexdump(FrameDump("got", b"\x1b[31m\x9b\n[b]")))
    assert line.endswith(".[31m..[b]")
    assert line.isprintable()


def test_colours_mark_the_same_bytes() -> None:
    line, carets = hexdump(FrameDump("got", b"abc", marks=((1, 1),), cuts=(2,)))
    styles = {line.plain[span.start : span.end]: str(span.style) for span in line.spans}
    assert styles["62"] == "bold red"
    assert styles["|"] == "bold cyan"
    assert str(carets.style) == "bold red"


def test_a_pair_shows_equal_rows_once() -> None:
    one = FrameDump("expected", bytes(16) + b"a" + bytes(31), marks=((16, 1),))
    other = FrameDump("got", bytes(16) + b"b" + bytes(31), cuts=(4,), marks=((16, 1),))
    assert plain(hexdump_pair(one, other)) == [
        "  0000  00 00 00 00|00 00 00 00 00 00 00 00 00 00 00 00  ................",
        "- 0010  61 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  a...............",
        "        ^^",
        "+ 0010  62 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  b...............",
        "        ^^",
        "  0020  00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................",
    ]


def test_a_pair_of_different_lengths() -> None:
    lines = plain(hexdump_pair(FrameDump("e", bytes(18), marks=((16, 2),)), FrameDump("g", bytes(16))))
    assert [line[:8] for line in lines] == ["  0000  ", "- 0010  "]


def test_a_pair_shrinks_repeated_equal_rows() -> None:
    one = FrameDump("e", b"a" + bytes(159), marks=((0, 1),))
    other = FrameDump("g", b"b" + bytes(159), marks=((0, 1),))
    lines = plain(hexdump_pair(one, other))
    assert [line[:6] for line in lines] == ["- 0000", "      ", "+ 0000", "      ", "  0010", "  *", "  0090"]


def test_captions_tell_what_is_shown() -> None:
    assert caption(FrameDump("got", b"a")) == "got, 1 byte"
    part = FrameDump("got", bytes(128), offset=0x100, truncated_from=4096)
    assert caption(part) == "got, 4096 bytes, of which 128 from 0100 on"

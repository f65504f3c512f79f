"""The specification can be read by the harness, and says so where it cannot."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.requirements import Requirement, RequirementError, load_requirements
from wire.release import Release

GOOD = """\
# A wire

Prose before the first requirement.

```
### not a heading, an example
```

## Reply header

### LM-REPLY-003 · MUST · all
A client assembles the whole reply header
however the stream is segmented.

Why: on a real network a header arrives split now and then;
a client that reads once decodes wrong bytes.

## Server

### LM-SRV-001 · MAY · 0.3.4 to 0.3.15
A server ends a connection with FIN or RST.

Why: both mean closed.
Role: server
Untestable: the kernel decides.

Prose belongs under a heading.
"""


def write(directory: Path, text: str, name: str = "lm.md") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def one(title: str = "LM-GET-001 · MUST · all", body: str = "A client reads.\n\nWhy: it has to.") -> str:
    return f"# Title\n\n### {title}\n{body}\n"


def test_the_real_specification_parses() -> None:
    requirements = load_requirements()
    assert len(requirements) >= 50
    assert {requirement.document for requirement in requirements.values()} >= {"lm.md", "keys.md", "layouts.md"}


@pytest.mark.parametrize("requirement", load_requirements().values(), ids=lambda requirement: requirement.id)
def test_a_real_requirement_is_one_sentence(requirement: Requirement) -> None:
    assert not re.search(r"[.?!] [A-Z]", requirement.statement)


@pytest.mark.parametrize("document", sorted({requirement.document for requirement in load_requirements().values()}))
def test_real_numbers_rise(document: str) -> None:
    numbers: dict[str, list[int]] = {}
    for requirement in load_requirements().values():
        if requirement.document == document:
            series, _, number = requirement.id.rpartition("-")
            numbers.setdefault(series, []).append(int(number))
    assert numbers == {series: sorted(found) for series, found in numbers.items()}


def test_a_requirement_is_read_with_all_its_fields(tmp_path: Path) -> None:
    write(tmp_path, GOOD.rpartition("\nProse")[0])
    client, server = load_requirements(tmp_path).values()
    assert (client.id, client.level, client.role, client.untestable) == ("LM-REPLY-003", "MUST", "client", None)
    assert client.statement == "A client assembles the whole reply header however the stream is segmented."
    assert client.why.endswith("now and then; a client that reads once decodes wrong bytes.")
    assert client.document == "lm.md"
    assert Release.parse("0.3.1") in client.releases
    assert Release.parse("0.5.6") in client.releases
    assert (server.level, server.role, server.untestable) == ("MAY", "server", "the kernel decides.")
    assert Release.parse("0.3.3") not in server.releases
    assert Release.parse("0.3.15") in server.releases


def test_documents_without_requirements_are_welcome(tmp_path: Path) -> None:
    write(tmp_path, "# Index\n\n## Where things are\n", "index.md")
    write(tmp_path, one())
    assert list(load_requirements(tmp_path)) == ["LM-GET-001"]


def test_prose_below_a_requirement_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(RequirementError, match="belongs to no field") as caught:
        load_requirements(tmp_path)
    line = 1 + GOOD.splitlines().index("Prose belongs under a heading.")
    assert str(caught.value).startswith(f"{path}:{line}: LM-SRV-001")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (one("LM-GET-001 - MUST - all"), "is not 'ID · LEVEL · RELEASES'"),
        (one("Reply header"), "every level-3 heading"),
        (one("LM-GET-1 · MUST · all"), "'LM-GET-1' is no id"),
        (one("lm-get-001 · MUST · all"), "'lm-get-001' is no id"),
        (one("GET001 · MUST · all"), "'GET001' is no id"),
        (one("LM-GET-001 · SHALL · all"), "level 'SHALL' is not one of MUST, SHOULD, MAY"),
        (one("LM-GET-001 · MUST · since 0.3.3"), "release range 'since 0.3.3'.*is not a version"),
        (one("LM-GET-001 · MUST · 0.2.9 and later"), "is older than 0.3.1"),
        (one("LM-GET-001 · MUST · up to 0.3.8"), "there is no lmcache 0.3.8"),
        (one("LM-GET-001 · MUST · 0.4.1 to 0.3.3"), "ends before it begins"),
        (one(body="A client reads."), "has no 'Why' line"),
        (one(body="Why: it has to."), "has no statement"),
        (one(body="A client reads.\n\nWhy:\nit has to."), "its 'Why' line is empty"),
        (one(body="A client reads.\n\nWhy: it has to.\nWhy: it wants to."), "has a second 'Why' line"),
        (one(body="A client reads\n\nWhy: it has to."), "its statement does not end with a full stop"),
        (one(body="A client reads.\n\nWhy: it has to.\nRole: proxy"), "role 'proxy' is not one of client, server"),
        (one(body="A client reads.\n\nWhy: it has to.\nRole: server"), "LM-GET-001 has the role server"),
        (one("LM-SRV-001 · MUST · all"), "LM-SRV-001 has the role client"),
    ],
)
def test_a_malformed_requirement_names_file_line_and_fault(tmp_path: Path, text: str, complaint: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RequirementError, match=complaint) as caught:
        load_requirements(tmp_path)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", str(caught.value))


def test_an_id_used_in_two_documents_names_both_places(tmp_path: Path) -> None:
    first = write(tmp_path, one(), "a.md")
    second = write(tmp_path, "\n\n" + one(), "b.md")
    with pytest.raises(RequirementError, match="LM-GET-001 is used twice") as caught:
        load_requirements(tmp_path)
    assert str(caught.value).startswith(f"{second}:5: ")
    assert f"first at {first}:3" in str(caught.value)


def test_a_missing_directory_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected a directory of \.md files"):
        load_requirements(tmp_path / "nowhere")


def test_an_installed_package_reads_its_own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "harness"
    (package / "spec").mkdir(parents=True)
    write(package / "spec", one())
    monkeypatch.setattr("harness.requirements.__file__", str(package / "requirements.py"))
    assert list(load_requirements()) == ["LM-GET-001"]

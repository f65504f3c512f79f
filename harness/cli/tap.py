"""``lmconform tap``: a recording proxy between any client and any server, and what becomes of its recordings."""

from __future__ import annotations

import contextlib
import datetime as dt
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.console import Console
from rich.text import Text

from harness.cli.numbers import seconds, whole
from harness.usage import UsageError
from reports.verdict import ExitCode
from wire.release import Release

_ENDINGS: Final = frozenset({signal.SIGINT, signal.SIGTERM})
_LONGEST: Final = 100_000_000
"""Seconds that can be waited for."""
_SHOWN_OF_A_RULE: Final = 5
"""Findings of one rule that are told one by one."""
_PATIENT: Final = 5
"""How often it is asked at the end whether somebody is in a hurry before the wait is told, five times a second."""
_STYLES: Final = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_Protocol = Literal["lm", "mp"]


def record(
    context: typer.Context,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="Where clients connect to; port 0 lets the kernel choose.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="HOST:PORT", help="The server that they are passed on to.")] = None,
    protocol: Annotated[
        _Protocol, typer.Option("--protocol", help="lm: the lm:// wire. mp: the multiprocess server, over ZeroMQ.")
    ] = "lm",
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="RELEASE", help="The release that both sides should be; not given: find out."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The recording; not given: a new file in the current directory.")
    ] = None,
    redact: Annotated[
        str, typer.Option("--redact", metavar="WHAT", help="keys, payloads or both, separated by commas: record none of them.")
    ] = "",
    keep: Annotated[
        int,
        typer.Option("--keep", metavar="BYTES", parser=whole(0, 1 << 30), help="Recorded of each payload."),
    ] = 4096,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", metavar="BYTES", parser=whole(4096), help="Stop to record, and pass on, at this size.")
    ] = 1 << 30,
    for_: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", parser=seconds, help="End after so long; not given: at Ctrl-C.")
    ] = None,
    patience: Annotated[
        float, typer.Option("--patience", metavar="SECONDS", parser=seconds, help="A request without a reply is told after this.")
    ] = 5.0,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Permit an address that other machines can reach.")
    ] = False,
) -> int:
    """Pass on every connection from --listen to --to, record what crosses the wire, and tell what is wrong in it.

    Bytes pass unchanged and at once. Findings are told as they show, one a line, and the recording is a file for 'lmconform
    explain'. Exit code: 0 nothing found, 1 an error or a warning was found, 2 usage, 3 the recording is not complete.
    """
    if context.invoked_subcommand is not None:
        return int(ExitCode.CONFORMANT)
    if listen is None or to is None:
        raise UsageError("tap needs --listen HOST:PORT and --to HOST:PORT; 'lmconform tap --help' shows all that it takes")
    from harness.tap.address import Address
    from harness.tap.recording import Redacted
    from harness.tap.session import Wishes, tapping

    at = Address.parse(listen, what="--listen", lowest=0)
    if not at.is_loopback() and not allow_remote:
        raise UsageError(
            f"other machines can reach {at.host}, and whoever connects reaches the server behind the tap; "
            "listen on 127.0.0.1, or add --allow-remote if you mean it"
        )
    if for_ is not None and not 0 <= for_ <= _LONGEST:
        raise UsageError(f"--for takes seconds from 0 to {_LONGEST}; without it the tap runs until Ctrl-C")
    if not 0 < patience <= _LONGEST:
        raise UsageError(f"--patience takes seconds, more than 0 and at most {_LONGEST}")
    wishes = Wishes(
        listen=at,
        to=Address.parse(to, what="--to"),
        protocol=protocol,
        out=out or _new_file(protocol),
        profile=Release.parse(profile) if profile is not None else None,
        redacted=Redacted(**dict.fromkeys(parse_redact(redact), True)),
        kept=keep,
        max_bytes=max_bytes,
        patience=patience,
    )
    speaker = _Speaker()
    # Blocked, and then waited for, as in 'lmconform serve'; threads that are started meanwhile inherit it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        with tapping(wishes, tell=speaker.finding, notice=speaker.notice, hurried=speaker.hurried) as (address, outcome):
            speaker.say(f"tap listens on {address}, passes on to {wishes.to}, and records into {wishes.out}")
            if for_ is None:
                signal.sigwait(_ENDINGS)
            else:
                signal.sigtimedwait(_ENDINGS, for_)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return speaker.summary(outcome, wishes.out)


def parse_redact(text: str) -> list[Literal["keys", "payloads"]]:
    """``keys``, ``payloads`` or both.

    Raises:
        UsageError: it names something else.
    """
    known: tuple[Literal["keys"], Literal["payloads"]] = ("keys", "payloads")
    words = {word.strip() for word in text.split(",") if word.strip()}
    unknown = sorted(words.difference(known))
    if unknown:
        raise UsageError(f"--redact takes keys, payloads or keys,payloads, not {', '.join(unknown)}")
    return [word for word in known if word in words]


class _Speaker:
    """Says on standard output what happens, one line at a time, from any thread."""

    def __init__(self) -> None:
        self._console = Console(highlight=False)
        self._lock = threading.Lock()
        self._told: Counter[str] = Counter()
        self._noticed: Counter[str] = Counter()
        self._asked = 0

    def say(self, line: str | Text) -> None:
        from reports.escape import escape

        # Nobody may be reading any more; the traffic and the recording go on all the same.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._console.print(Text(escape(line)) if isinstance(line, str) else line, soft_wrap=True)

    def finding(self, finding: object) -> None:
        """One line for a finding; of many of one kind only the first."""
        from harness.tap.finding import Finding
        from reports.escape import escape

        assert isinstance(finding, Finding)
        name = finding.rule.name
        self._told[name] += 1
        if self._told[name] > _SHOWN_OF_A_RULE:
            if self._told[name] == _SHOWN_OF_A_RULE + 1:
                self.say(f"more of {name} are only counted")
            return
        where = f"#{finding.connection} " if finding.connection else ""
        cites = f"  {finding.cites}" if finding.cites else ""
        self.say(
            Text.assemble(
                (f"{finding.at:9.3f}  ", "dim"), (f"{finding.level:7}", _STYLES[finding.level]), f"  {where}{finding.who}  ",
                (f"{name}: ", "bold"), escape(finding.summary), (cites, "dim"),
            )
        )  # fmt: skip

    def notice(self, event: object) -> None:
        """One line for trouble of the tap itself that no finding tells."""
        from harness.tap.event import Event

        assert isinstance(event, Event)
        if event.connection == 0:
            self._noticed[event.text] += 1
            if self._noticed[event.text] == 1:
                self.say(f"{event.at:9.3f}  tap      {event.text}")

    def hurried(self) -> bool:
        """Whether the user gives up what has still to be written; told once that something has."""
        self._asked += 1
        if self._asked == _PATIENT:
            self.say("stopped; what was recorded last is still being written, Ctrl-C gives it up")
        return bool(signal.sigpending() & _ENDINGS)

    def summary(self, outcome: object, out: Path) -> int:
        """What was seen, in a few lines; the exit code."""
        from harness.tap.finding import LEVELS
        from harness.tap.session import Outcome
        from reports.words import count, listing

        assert isinstance(outcome, Outcome)
        counts = outcome.counts
        self.say(
            f"stopped after {outcome.seconds:.1f} s: {count(counts.get('connections', 0), 'connection')}, "
            f"{count(counts.get('client_bytes', 0), 'byte')} from clients, "
            f"{count(counts.get('server_bytes', 0), 'byte')} from the server"
        )
        for who, guess in outcome.guesses.items():
            self.say(f"the {who} seems to be {guess.words}" if guess.candidates and guess.seen else f"the {who} is {guess.words}")
        found = [count(outcome.levels[level], level) for level in LEVELS if outcome.levels[level]]
        self.say(f"found {listing(found)}; 'lmconform explain {out}' tells all of it" if found else "nothing was found")
        if outcome.trouble:
            self.say(f"the recording is not complete: {outcome.trouble}")
        if outcome.defect:
            self.say(f"the linter failed, which is a mistake in lmconform: {outcome.defect}")
        if outcome.levels["error"] or outcome.levels["warning"]:
            return int(ExitCode.NOT_CONFORMANT)
        return int(ExitCode.UNDECIDED if outcome.trouble or outcome.defect else ExitCode.CONFORMANT)


def _new_file(protocol: str) -> Path:
    """A name that no file has."""
    stamp = dt.datetime.now(dt.UTC).strftime("%Y%m%d-%H%M%S")
    names = [f"{protocol}-{stamp}.jsonl", *(f"{protocol}-{stamp}-{number}.jsonl" for number in range(2, 100))]
    return next((Path(name) for name in names if not Path(name).exists()), Path(names[0]))


def redact(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A recording.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="NEW-FILE", help="The redacted recording.", show_default=False)],
    what: Annotated[str, typer.Option("--redact", metavar="WHAT", help="keys, payloads or both.")] = "keys,payloads",
) -> int:
    """Write a recording once more, with pseudonyms for keys and with lengths and digests for payloads."""
    from harness.tap.recording import Redacted
    from harness.tap.redact import redact as write_redacted

    words = parse_redact(what)
    if not words:
        raise UsageError("--redact takes keys, payloads or keys,payloads")
    write_redacted(source, target, Redacted(**dict.fromkeys(words, True)))
    typer.echo(f"wrote {target}")
    return int(ExitCode.CONFORMANT)


def replay(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, or a case file.", show_default=False)],
    to: Annotated[
        str,
        typer.Option("--to", metavar="SERVER", help="HOST:PORT, or mock for a mock server.", show_default=False),
    ],
    lmcache: Annotated[
        str | None, typer.Option("--lmcache", metavar="RELEASE", help="With mock: the release; not given: what the server was.")
    ] = None,
) -> int:
    """Play the side of the clients against a server, and compare its answers with those that were recorded.

    Exit code: 0 the same answers, 1 another answer, which is told, 2 usage.
    """
    from harness.tap.address import Address
    from harness.tap.case import make_case, mock_of, play, read_case
    from reports.escape import escape

    if lmcache is not None and to != "mock":
        raise UsageError("--lmcache is for --to mock; a server is of the release that it is")
    case = read_case(recording) or make_case(recording, "replay")
    if to == "mock":
        with mock_of(case["protocol"], lmcache or case["release"]) as (host, port):
            found = play(host, port, case["protocol"], case["transcript"])
    else:
        address = Address.parse(to, what="--to")
        try:
            found = play(address.host, address.port, case["protocol"], case["transcript"])
        except OSError as error:
            raise UsageError(f"the server at {address}: {error.strerror or error}; is it running?") from None
    for line in found:
        typer.echo(escape(line))
    if not found:
        steps = sum(step.get("do") in ("receive", "poll") for step in case["transcript"].get("steps", ()))
        typer.echo(f"the same answers as recorded, {steps} of them")
    return int(ExitCode.NOT_CONFORMANT if found else ExitCode.CONFORMANT)


def case(
    recording: Annotated[Path, typer.Argument(metavar="FILE", help="A recording.", show_default=False)],
    name: Annotated[str, typer.Option("--name", help="The name of the test, such as lost_value.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the test module and its case file go.")] = Path(),
) -> int:
    """Make a test of a recording: a module for pytest that plays it against a server, and a case file beside it.

    The test passes where the server answers as it was recorded: a mock of the release, or the server at LM_SERVER=HOST:PORT.
    """
    from harness.tap.case import write_case

    module, data = write_case(recording, out, name)
    typer.echo(f"wrote {module} and {data}; try 'pytest {module}'")
    return int(ExitCode.CONFORMANT)


def group(guarded: Callable[[Callable[..., object]], Callable[..., object]]) -> typer.Typer:
    """The command and its subcommands."""
    settings = {"help_option_names": ["-h", "--help"]}
    found = typer.Typer(invoke_without_command=True, rich_markup_mode=None, add_completion=False, context_settings=settings)
    found.callback()(guarded(record))
    for name, command in (("replay", replay), ("case", case), ("redact", redact)):
        found.command(name)(guarded(command))
    return found

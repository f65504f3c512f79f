"""``lmconform smoke``: the checks of an adapter, on the terminal."""


def test_the_reference_client_passes(command):
    ended = command("smoke")
    assert ended.code == 0
    assert ended.out.endswith("\n13 passed, 0 failed, 0 not applicable\n")


def test_a_client_in_a_process_of_its_own_passes(command, hosted):
    assert command("smoke", "--client", hosted("WrongByte")).code == 0


def test_a_client_that_refuses_hello_fails_the_handshake_and_is_shown_what_was_expected(command):
    ended = command("smoke", "--client", "python:broken_clients:RefusesHello")
    assert ended.code == 1
    assert "FAIL  handshake" in ended.out
    assert "not today" in ended.out
    assert "line expected: " in ended.out


def test_a_client_that_cannot_be_started_is_bad_input_and_no_failed_check(command):
    ended = command("smoke", "--client", "stdio:./nothing-here")
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("lmconform: there is no file ")


def test_a_program_that_ends_at_once_fails_the_handshake(command):
    ended = command("smoke", "--client", "stdio:true")
    assert ended.code == 1
    assert "FAIL  handshake" in ended.out
    assert "exit status 0" in ended.out


def test_a_client_that_kills_its_process_does_not_take_the_report_along(command):
    ended = command("smoke", "--client", "python:broken_clients:DiesAlways")
    assert ended.code == 1
    assert "the process ended with exit status 7" in ended.out
    assert "ok    unknown operation" in ended.out


def test_checks_that_do_not_apply_are_told_apart(command):
    ended = command("smoke", "--client", "python:broken_clients:FormatsKeysOnly")
    assert ended.code == 0
    assert "n/a   round trip\n      not applicable: connect and one of" in ended.out
    assert ended.out.endswith("\n8 passed, 0 failed, 5 not applicable\n")


def test_the_lines_of_the_conversation_can_be_shown(command):
    out = command("smoke", "--client", "python:broken_clients:FormatsKeysOnly", "--lines").out
    first, second, *_ = out.splitlines()
    assert first.startswith('-> {"id":1,"op":"hello","args":{"protocol":1,"scratch":"')
    assert second.startswith('<- {"id": 1, "ok": {"name": "')
    assert '"op":"hello","args":{"protocol":2,' in out

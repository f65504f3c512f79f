"""The mock lm:// server behaves as the real one does in every release."""

from __future__ import annotations

import socket

import pytest

from wire.lm.frames import Description, Reply

SUCCESS = Reply("SUCCESS", Description(0, "KV_2LTD", "float16", (0, 0, 0, 0)))
FAIL = Reply("FAIL", Description(0, "KV_2LTD", "float16", (0, 0, 0, 0)))


def code(reply):
    return reply.code


def header_numbers(client, data):
    return dict(zip(client.profile.header.reply, memoryview(data).cast("i"), strict=True))


def test_a_put_has_no_reply_and_a_get_returns_what_was_put(client):
    client.put(b"payload")
    client.request("GET")
    assert client.reply() == Reply("SUCCESS", Description(7, "KV_2LTD", "bfloat16", (2, 3, 4, 5)))
    assert client.read(7) == b"payload"
    client.finish()
    assert client.rest() == (b"", "fin")


def test_a_miss_is_a_header_with_zeros(client):
    client.request("GET")
    header = client.read(client.profile.header.reply_size)
    assert header_numbers(client, header) == {
        **dict.fromkeys(client.profile.header.reply, 0),
        "code": 400,
        "format": 1,
        "dtype": 2,
    }


def test_exist_tells_stored_from_missing(client):
    client.request("EXIST")
    assert code(client.reply()) == "FAIL"
    client.put(b"x")
    client.request("EXIST")
    reply = client.reply()
    assert code(reply) == "SUCCESS"
    assert reply.about.length == 0


def test_health_succeeds(client):
    client.request("HEALTH")
    assert code(client.reply()) == "SUCCESS"


def test_list_is_never_answered_and_leaves_the_connection_usable(client):
    client.request("LIST")
    client.request("HEALTH")
    client.finish()
    data, end = client.rest()
    assert len(data) == client.profile.header.reply_size
    assert end == "fin"


def test_pipelined_requests_are_answered_in_order(client):
    client.put(b"x")
    for command in ("EXIST", "GET", "HEALTH"):
        client.request(command)
    client.request("EXIST", client.key.replace("model", "other"))
    assert [code(client.reply()), code(client.reply())] == ["SUCCESS", "SUCCESS"]
    assert client.read(1) == b"x"
    assert [code(client.reply()), code(client.reply())] == ["SUCCESS", "FAIL"]


def test_a_client_that_closed_its_half_still_gets_every_reply(client):
    client.put(b"abc")
    client.request("GET")
    client.request("EXIST")
    client.finish()
    data, end = client.rest()
    assert len(data) == 2 * client.profile.header.reply_size + 3
    assert end == "fin"


def test_requests_that_arrive_byte_by_byte_are_put_together(client):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = client.raw(command=1, length=3) + b"abc" + client.raw(command=2)
    for index in range(len(data)):
        client.send(data[index : index + 1])
    assert client.reply().about.length == 3
    assert client.read(3) == b"abc"


@pytest.mark.parametrize("length", [0, -1, -(2**31)])
def test_a_length_of_zero_or_less_reads_nothing_and_is_echoed(client, length):
    client.send(client.raw(command=1, length=length))
    client.request("GET")
    client.request("HEALTH")
    assert client.reply().about.length == length
    assert code(client.reply()) == "SUCCESS"


def test_header_and_body_leave_in_two_sends(server, client):
    client.put(b"abcdef")
    client.request("GET")
    client.read(client.profile.header.reply_size + 6)
    exchange = server.journal.wait_for(lambda journal: (last := journal.last_exchange("GET")) and last.done and last)
    assert [segment.size for segment in exchange.segments_out] == [client.profile.header.reply_size, 6]


def test_a_later_put_replaces_the_value(client):
    client.put(b"first")
    client.put(b"2nd")
    client.request("GET")
    assert client.reply().about.length == 3
    assert client.read(3) == b"2nd"


def test_a_cut_payload_exists_and_its_get_ends_the_connection_after_the_header(server, client, dial):
    client.put(b"a good old value")
    client.send(client.raw(command=1, length=100) + b"only this")
    client.finish()
    assert client.rest() == (b"", "fin")
    other = dial(server)
    other.request("EXIST")
    assert code(other.reply()) == "SUCCESS"
    other.request("GET")
    assert other.reply().about.length == 100
    assert other.rest() == (b"", "fin")
    endings = [record.ending.kind for record in server.journal.connections()]
    assert endings == ["cut payload", "no data"]


def test_requests_pipelined_behind_a_get_of_a_cut_value_are_lost_in_a_reset(server, client, dial):
    client.send(client.raw(command=1, length=100) + b"x")
    client.finish()
    client.rest()
    other = dial(server)
    other.send(other.raw(command=2) + other.raw(command=5))
    data, end = other.rest()
    assert len(data) == client.profile.header.reply_size
    assert end == "rst"


def test_a_reset_inside_a_payload_stores_nothing(server, client, dial):
    client.put(b"old")
    client.send(client.raw(command=1, length=100) + b"x")
    server.journal.wait_for(lambda journal: len(journal.exchanges("PUT")) == 2)
    client.reset()
    server.journal.wait_for(lambda journal: not journal.open_connections)
    other = dial(server)
    other.request("GET")
    assert other.reply().about.length == 3
    assert other.read(3) == b"old"
    assert server.journal.connections()[0].ending.kind == "peer reset"


@pytest.mark.parametrize("size", [1, 32, 100, -1])
def test_an_incomplete_header_ends_the_connection_without_a_reply(server, client, size):
    client.send(client.raw()[:size])
    client.finish()
    assert client.rest() == (b"", "fin")
    record = server.journal.wait_for(lambda journal: not journal.open_connections and journal.connections()[0])
    assert record.ending.kind == "cut header"
    assert record.unfinished == client.raw()[:size]


@pytest.mark.parametrize(
    "numbers",
    [{"format": -1}, {"format": 9}, {"dtype": 9}, {"dtype": -1}],
    ids=lambda numbers: "-".join(f"{name}={value}" for name, value in numbers.items()),
)
@pytest.mark.parametrize("command", [1, 2, 3, 4, 5])
def test_a_number_outside_its_table_closes_the_connection(server, client, dial, command, numbers):
    client.send(client.raw(command=command, **numbers))
    assert client.rest() == (b"", "fin")
    assert server.journal.connections()[0].ending.kind == "bad request"
    bystander = dial(server)
    bystander.request("HEALTH")
    assert code(bystander.reply()) == "SUCCESS"


@pytest.mark.parametrize("key", [b"", b"nonsense", b"\xff", b"@@@@@@", b"a@b@c@d@e@f@g"])
@pytest.mark.parametrize("command", [1, 2, 3, 4, 5])
def test_a_key_that_cannot_be_parsed_closes_the_connection_whatever_the_command(client, command, key):
    client.send(client.raw(key, command=command))
    assert client.rest() == (b"", "fin")


def test_formats_are_accepted_up_to_the_highest_of_the_release(client):
    highest = client.profile.highest_format
    client.send(client.raw(format=highest))
    assert code(client.reply()) == "SUCCESS"
    client.send(client.raw(format=highest + 1))
    assert client.rest() == (b"", "fin")


@pytest.mark.parametrize("command", [0, 6, -1, 99])
def test_unknown_commands_are_ignored_until_0_3_5_and_close_from_0_3_6_on(client, command):
    client.send(client.raw(command=command))
    if client.profile.strict_enums:
        assert client.rest() == (b"", "fin")
    else:
        client.request("HEALTH")
        assert code(client.reply()) == "SUCCESS"


@pytest.mark.parametrize("command", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("location", [3, -1])
def test_a_location_outside_its_table_closes_the_connection(located, command, location):
    located.send(located.raw(command=command, location=location))
    assert located.rest() == (b"", "fin")


def test_the_location_is_checked_and_then_forgotten(located):
    located.send(located.raw(command=1, location=2))
    located.request("GET")
    assert located.reply().about.location is None


def test_dtype_1_comes_back_as_2_and_0_as_0(client):
    for sent, returned in ((1, 2), (0, 0), (8, 8)):
        client.send(client.raw(command=1, dtype=sent) + client.raw(command=2))
        header = client.read(client.profile.header.reply_size)
        assert header_numbers(client, header)["dtype"] == returned


@pytest.mark.parametrize("dims", [(0, 0, 0, 0), (5, 0, 0, 0), (0, 7, 0, 0), (-1, -2, -3, -4), (2**31 - 1, 0, 0, -(2**31))])
@pytest.mark.parametrize("number", [0, 1, 4, 5, 6])
def test_shapes_are_echoed_number_by_number(client, number, dims):
    sent = {f"shape{index}": dim for index, dim in enumerate(dims)}
    client.send(client.raw(command=1, format=number, **sent) + client.raw(command=2))
    returned = header_numbers(client, client.read(client.profile.header.reply_size))
    assert {name: returned[name] for name in sent} == sent


def test_spellings_that_parse_alike_name_one_value(client):
    client.put(b"x")
    spelled = client.key.replace("@1@0@", "@+0_1 @-0@")
    client.request("EXIST", spelled)
    assert code(client.reply()) == "SUCCESS"
    client.request("EXIST", client.key.replace("@1@0@", "@2@0@"))
    assert code(client.reply()) == "FAIL"


def test_hashes_are_text_before_0_3_3_and_numbers_afterwards(start, dial):
    for release, same in (("0.3.1", False), ("0.3.7", True), ("0.5.6", True)):
        client = dial(start(release))
        client.put(b"x")
        client.request("EXIST", client.key.replace("@ab", "@0x0_0AB"))
        assert (code(client.reply()) == "SUCCESS") is same


def test_large_payloads_come_back_unchanged(server, client):
    payload = bytes(range(256)) * 12345
    client.put(payload)
    client.request("GET")
    assert client.reply().about.length == len(payload)
    assert client.read(len(payload)) == payload
    exchange = server.journal.exchanges("PUT")[0]
    assert exchange.payload is None
    assert exchange.payload_length == len(payload)


def test_a_claim_of_two_gigabytes_costs_nothing_until_bytes_arrive(server, client, dial):
    client.send(client.raw(command=1, length=2**31 - 1) + b"few bytes")
    client.finish()
    assert client.rest() == (b"", "fin")
    other = dial(server)
    other.request("GET")
    assert other.reply().about.length == 2**31 - 1
    assert other.rest() == (b"", "fin")

"""The same plan and the same requests meet the same faults, however the threads run."""

from __future__ import annotations

import random
import threading

import pytest

from mockserver.faults import FaultPlan, FaultRule, Match, PlanProgress, Span, Stall, parse_plan

CHAOS = (
    "garbage-before:bytes=2,probability=0.3,seed=1",
    "duplicate-reply:probability=0.3,seed=1",
    "flip-bit:at=field:length,probability=0.2,seed=5,command=GET",
    "drop-reply:nth=3,connection=1..4",
    "close-between:probability=0.05,connection=5..,command=EXIST",
)


def journal_of_a_run(start, dial, faults, order):
    """What every exchange of six connections met, when their threads begin in this order and hurry as they like."""
    server = start(faults=parse_plan(faults))
    clients = [dial(server) for _ in range(6)]
    server.journal.wait_for(lambda journal: journal.connection_count == len(clients))
    random_per_client = [random.Random(number) for number in range(len(clients))]

    def work(number):
        chance = random_per_client[number]
        client = clients[number]
        try:
            for _ in range(30):
                command = chance.choice(["GET", "EXIST", "HEALTH", "PUT"])
                client.put(b"0123456789") if command == "PUT" else client.request(command)
            client.finish()
            client.rest()
        except OSError:
            pass

    threads = [threading.Thread(target=work, args=(number,)) for number in order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    server.journal.wait_for(lambda journal: not journal.open_connections)
    exchanges = sorted(server.journal.exchanges(), key=lambda exchange: (exchange.connection, exchange.number))
    return [(exchange.connection, exchange.number, exchange.command, exchange.faults) for exchange in exchanges]


def test_two_runs_meet_the_same_faults(start, dial):
    first = journal_of_a_run(start, dial, CHAOS, range(6))
    second = journal_of_a_run(start, dial, CHAOS, reversed(range(6)))
    assert first == second
    met = {fault.partition(":")[0] for *_, faults in first for fault in faults}
    assert met == {"garbage-before", "duplicate-reply", "flip-bit", "drop-reply", "close-between"}


def test_another_seed_meets_other_faults(start, dial):
    runs = [journal_of_a_run(start, dial, [f"duplicate-reply:probability=0.5,seed={seed}"], range(6)) for seed in (1, 2)]
    assert runs[0] != runs[1]


def lots(progress, connection=1, count=2000):
    return [bool(progress.actions_for("GET", connection, "k", exchange)) for exchange in range(1, count + 1)]


@pytest.mark.parametrize("probability", [0, 0.1, 0.5, 1])
def test_a_probability_is_a_share_of_the_exchanges(probability):
    plan = FaultPlan([FaultRule(match=Match(probability=probability, seed=3), action=Stall())])
    assert sum(lots(PlanProgress(plan))) / 2000 == pytest.approx(probability, abs=0.03)


def test_connections_draw_apart_and_two_faults_with_one_seed_too():
    progress = PlanProgress(parse_plan(["stall:probability=0.5", "delay:seconds=1,probability=0.5"]))
    assert lots(progress, 1) != lots(progress, 2)
    both = [len(progress.actions_for("GET", 1, "k", exchange)) for exchange in range(1, 500)]
    assert {0, 1, 2} == set(both)


def met(progress, *exchanges):
    return [bool(progress.actions_for("GET", connection, "k")) for connection in exchanges]


def test_nth_counts_on_each_connection_where_connections_are_named():
    progress = PlanProgress(FaultPlan([FaultRule(match=Match(nth=2, connection=Span(2)), action=Stall())]))
    assert met(progress, 1, 2, 3, 2, 3, 3, 1) == [False, False, False, True, True, False, False]


def test_nth_counts_over_the_whole_server_otherwise():
    progress = PlanProgress(FaultPlan([FaultRule(match=Match(nth=Span(2, 3)), action=Stall())]))
    assert met(progress, 1, 2, 3, 4) == [False, True, True, False]


def test_the_counts_of_a_connection_are_dropped_at_its_end(start, dial):
    server = start(faults=parse_plan(["delay:seconds=0,nth=2,connection=1.."]))
    for _ in range(20):
        client = dial(server)
        client.request("HEALTH")
        client.reply()
        client.close()
    server.journal.wait_for(lambda journal: not journal.open_connections)
    assert not server._progress._seen

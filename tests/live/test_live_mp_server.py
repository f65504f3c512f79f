"""The real multiprocess server: it starts, says what the corpus has, dies of one short message, and leaves nothing behind."""

import os
import signal
import urllib.request

import pytest

from fixturegen.corpus import load_corpus
from fixturegen.environment import open_environment
from fixturegen.mp.player import replay
from fixturegen.mp.recording import abilities, launch_for
from fixturegen.mp.server import SHARED_FOLDER

SHORT = ("round-trip", "prefix", "salts", "wrong-salt", "more-retrieves", "not-registered")
"""Conversations that are held again; the whole of them takes minutes, and ``lmconform capture`` holds it twice."""


def transcripts(release, setting):
    return [one for one in load_corpus(release, protocol="mp").mp_transcripts if one.setting == setting]


def health_is_green(server):
    with urllib.request.urlopen(f"http://{server.host}:{server.http_port}/healthcheck", timeout=10) as answer:
        return answer.status == 200


def names_in_memory(*parts):
    return [path.name for path in SHARED_FOLDER.iterdir() if any(part in path.name for part in parts)]


@pytest.mark.live
@pytest.mark.parametrize("text", ["0.4.7", "0.5.6"])
def test_the_real_server_talks_as_it_was_recorded_and_dies_of_one_frame_while_its_health_page_is_green(pinned_release, text):
    release = type(pinned_release).parse(text)
    held = [one for one in transcripts(release, "shared-memory") if one.id.rpartition(".")[2] in SHORT]
    held += [one for one in transcripts(release, "cpu-tensors") if one.id.endswith(".round-trip")]
    (deadly,) = [one for one in transcripts(release, "control") if one.id.endswith(".one-frame")]
    assert (len(held) >= len(SHORT), deadly.fatal) == (True, True)
    with open_environment("venv").mp_server(release, launch_for(release, "shared-memory")) as server:
        for transcript in held:
            assert replay(server, transcript, abilities(server)) is None, transcript.id
        assert replay(server, deadly, abilities(server)) is None
        assert not server.alive()
        assert health_is_green(server)
        pid, name = server.pid, server.shm_name
        os.kill(pid, signal.SIGKILL)
    assert names_in_memory(name, f"_{pid}") == []


@pytest.mark.live
def test_an_old_server_starts_with_the_launcher_and_answers(pinned_release):
    release = type(pinned_release).parse("0.4.4")
    (known,) = [one for one in transcripts(release, "control") if one.id.endswith(".once-get-chunk-size")]
    with open_environment("venv").mp_server(release) as server:
        assert replay(server, known, abilities(server)) is None

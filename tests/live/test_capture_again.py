"""Captures are reproducible: again, in a venv and in a container, they give the corpus byte for byte."""

import pytest

from fixturegen.capture import capture
from fixturegen.corpus import corpus_root, load_corpus
from fixturegen.environment import open_environment


def same_but_for_the_environment(folder, release):
    again, kept = load_corpus(release, folder.parent), load_corpus(release)
    for name in kept.manifest.files:
        assert (folder / name).read_bytes() == (corpus_root() / str(release) / name).read_bytes(), name
    assert again.manifest.files == kept.manifest.files
    assert (again.manifest.wheel_sha256, again.manifest.stubs) == (kept.manifest.wheel_sha256, kept.manifest.stubs)
    assert again.manifest.volatile == kept.manifest.volatile
    assert again.manifest.unavailable == kept.manifest.unavailable


@pytest.mark.live
@pytest.mark.parametrize("text", ["0.3.1", "0.5.6"])
def test_a_capture_in_a_venv_gives_the_corpus(pinned_release, text, tmp_path):
    release = type(pinned_release).parse(text)
    same_but_for_the_environment(capture(release, open_environment("venv"), root=tmp_path), release)


@pytest.mark.docker
def test_a_capture_in_a_container_gives_the_corpus(engine, pinned_release, tmp_path):
    same_but_for_the_environment(capture(pinned_release, open_environment("docker"), root=tmp_path), pinned_release)

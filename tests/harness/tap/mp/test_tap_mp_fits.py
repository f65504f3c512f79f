"""What a server of a release takes, by the tap, is what the real one took."""

import pytest
from msgspec.msgpack import Ext
from zmtp_speech import greeting, message

from fixturegen.corpus import captured_releases, load_corpus
from harness.tap.mp.candidates import groups, wrong_request
from harness.tap.mp.fits import wrapper_form
from harness.tap.mp.parts import Parts
from harness.tap.mp.zmtp import Stream
from wire.mp.values import pack

CAPTURED = captured_releases(protocol="mp")
RELEASES = [group[-1] for group in groups() if group[-1] in CAPTURED]


def parts(frames):
    *_, found = Stream().feed(greeting() + message(b"\x00", *frames))
    return Parts.of(found)


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_the_tap_takes_what_the_real_decoder_took_and_nothing_else(release):
    taken = refused = 0
    for vector in load_corpus(release, protocol="mp").vectors["mp_decode_request"]:
        frames = [bytes.fromhex(frame["hex"]) for frame in vector.args["frames"]]
        if any(b"\xc7" in frame or b"\xc8" in frame for frame in frames):
            continue  # tensors: whether a pickle can be loaded is told by its class here
        wrong = wrong_request(release, parts(frames), "loose")
        assert (wrong is None) is (vector.ok is not None), (vector.id, wrong)
        taken, refused = taken + (wrong is None), refused + (wrong is not None)
    assert taken > 5
    assert refused > 5


@pytest.mark.parametrize(
    ("blob", "form"),
    [
        (b"\x80\x04\x8c\x01m\x8c\x01C\x93.", "a pickle of m.C"),
        (b"\x80\x04cos\nsystem\n.", "a pickle of os.system"),
        (b"\x80\x04.", "a pickle of no class"),
        (b"\x80\x04\xff", "a pickle of no class"),
        (pack({"type": "cuda"}), "a map of type cuda"),
        (pack({"type": "evil"}), "a map without a known type"),
        (b"\xc1", "bytes that are neither a map nor a pickle"),
    ],
)
def test_a_tensor_is_recognised_without_loading_it(blob, form):
    assert wrapper_form(bytes(Ext(1, blob).data)) == form

"""The page of a recording in a browser: readable for everybody, and whatever a peer sent does nothing in it."""

from harness.tap.event import Event
from harness.tap.lm.story import tell
from harness.tap.page import story_page
from harness.tap.recording import Header
from wire.lm.frames import Reply, Request, encode_reply, encode_request, replace_field
from wire.lm.profile import lm_profile
from wire.release import Release

PROFILE = lm_profile(Release.parse("0.5.6"))
PLANTED = "<script>document.title='acted'</script><img src=http://example.org/x>\u202e@1@0@7f@half"


def story():
    """A conversation with a finding of each level, and a name that would act if it could."""
    asked = encode_request(PROFILE, Request("EXIST", PLANTED))
    odd = replace_field(PROFILE.header.request, asked, "dtype", 9)
    sent = [asked, encode_reply(PROFILE, Reply("FAIL")), odd]
    sides = ("client", "server", "client")
    events = [Event(0.0, 1, "client", "open", text=PLANTED)]
    events += [Event(0.1 * place, 1, side, "data", data) for place, (side, data) in enumerate(zip(sides, sent, strict=True), 1)]
    events.append(Event(0.5, 1, "server", "reset"))
    return tell(Header("lm", PLANTED, "b:2", started="2026-11-30T12:00:00+00:00"), events, None)


def test_the_page_of_a_recording_is_for_everybody_and_nothing_in_it_acts(visit, tmp_path):
    (tmp_path / "story.html").write_text(story_page(story()))
    seen = visit(tmp_path / "story.html", size={"width": 390, "height": 844}, scheme="dark")
    assert (seen.complaints, [url for url in seen.requests if not url.startswith("file:")]) == ([], [])
    assert seen.violations() == []
    assert seen.overflow() <= 0
    assert seen.page.title().startswith("Recording of ")
    assert seen.page.get_by_text("unknown-dtype").count() == 1
    assert seen.page.locator("mark").first.is_visible()

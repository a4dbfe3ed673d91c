"""A real `<audio>` element plays a track of the library, and seeks by ranges."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, Response

from penstock.datastore.audio.records import Tags
from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.samples.audio import audio_samples
from penstock.server.samples.sounds.wav_flac_mp3 import tone, wav
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import RunningServer, running_server

pytestmark = pytest.mark.runs_together("browser")

MINUTES = 20
UPLOAD = """mutation($input: CreateAudioUploadInput!) { createAudioUpload(input: $input) {
  ...on CreateAudioUploadPayload { objectKey form { url fields { name value } } } } }"""
ADD = """mutation($input: AddAudioInput!) { addAudio(input: $input) {
  ...on AddAudioPayload { audio { title durationMs streamUrl { url } artworkUrl { url } } } } }"""
PLAY = """async ({ url, to }) => {
  const audio = document.createElement("audio");
  const event = (name) => new Promise((resolve, reject) => {
    audio.addEventListener(name, resolve, { once: true });
    audio.addEventListener("error", () => reject(new Error(audio.error.message)), { once: true });
  });
  audio.muted = true;
  audio.src = url;
  document.body.append(audio);
  await Promise.all([event("playing"), audio.play()]);
  const seeked = event("seeked");
  audio.currentTime = to;
  await seeked;
  while (audio.currentTime <= to) await event("timeupdate");
  return { duration: audio.duration, at: audio.currentTime };
}"""
LOADED = """async ({ url, tag }) => {
  const element = document.createElement(tag);
  await new Promise((resolve, reject) => {
    element.addEventListener(tag === "img" ? "load" : "loadedmetadata", resolve);
    element.addEventListener("error", () => reject(new Error("no " + url)));
    element.src = url;
  });
  return tag === "img" ? element.naturalWidth : element.duration;
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("audio"), ["--no-seed"]) as server:
        yield server


@pytest.fixture
async def page(browser: Browser, server: RunningServer) -> AsyncIterator[Page]:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{server.url}/healthz")
    yield page
    await context.close()


def ask(server: RunningServer, query: str, **input: Any) -> Any:
    key = dev_key(server.data_dir)
    token = sign_dev_token(key, "ana", {ROOT: Role.READER}, ROOT, DEV_TOKEN_LIFETIME)
    answer = httpx.post(
        f"{server.url}/graphql",
        json={"query": query, "variables": {"input": input}},
        headers={"authorization": f"Bearer {token}"},
        timeout=HUNG_SECONDS,
    ).json()
    assert "errors" not in answer, json.dumps(answer)
    (value,) = answer["data"].values()
    return value


def upload_audio(server: RunningServer, name: str, content: bytes) -> Any:
    """Upload a file by the form that the server returns, and add it to the library."""
    upload = ask(server, UPLOAD, fileName=name)
    fields = {field["name"]: field["value"] for field in upload["form"]["fields"]}
    sent = httpx.post(
        upload["form"]["url"], data=fields, files={"file": content}, timeout=HUNG_SECONDS
    )
    assert sent.status_code == 204
    return ask(server, ADD, objectKey=upload["objectKey"])["audio"]


async def test_a_track_is_played_and_sought_in(page: Page, server: RunningServer) -> None:
    content = wav(tone(440, MINUTES * 60), Tags(title="Long"))
    track = upload_audio(server, "long.wav", content)
    assert (track["title"], track["durationMs"]) == ("Long", MINUTES * 60_000)
    answers: list[Response] = []

    def note_answer(answer: Response) -> None:
        answers.append(answer)

    page.on("response", note_answer)
    there = (MINUTES - 2) * 60
    played = await page.evaluate(PLAY, {"url": track["streamUrl"]["url"], "to": there})
    assert played["duration"] == MINUTES * 60
    assert there < played["at"] < there + 30
    starts = []
    for answer in answers:
        headers = await answer.all_headers()
        assert (answer.status, headers["content-type"]) == (206, "audio/wav")
        # The browser assembles some answers from its cache, without naming the part.
        if told := headers.get("content-range"):
            assert told.endswith(f"/{len(content)}")
            starts.append(int(told.removeprefix("bytes ").partition("-")[0]))
    # It requested the range at the new position, and not everything before it.
    assert starts[0] == 0
    assert max(starts) > len(content) // 2


async def test_the_sample_library_is_played_in_the_formats_that_the_browser_knows(
    page: Page, server: RunningServer
) -> None:
    played = set()
    for sample in audio_samples():
        track = upload_audio(server, sample.name, sample.content)
        form = sample.name.rpartition(".")[2]
        if form != "m4a":  # builds without patented codecs cannot play it
            length = await page.evaluate(LOADED, {"url": track["streamUrl"]["url"], "tag": "audio"})
            assert length == pytest.approx(12, abs=0.2), sample.name
            played.add(form)
        assert await page.evaluate(LOADED, {"url": track["artworkUrl"]["url"], "tag": "img"}) == 64
    assert played == {"flac", "wav", "mp3", "opus"}

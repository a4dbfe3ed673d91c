"""Stores of files, and the audio files that tests upload to them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.audio.records import Audio, Tags
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Files
from penstock.datastore.objects.s3 import S3Files
from penstock.server.samples.sounds.m4a import m4a
from penstock.server.samples.sounds.opus import opus
from penstock.server.samples.sounds.tags import png
from penstock.server.samples.sounds.wav_flac_mp3 import flac, mp3, tone, wav
from tests.support.stores import REGION, aws_environment, moto_endpoint

SECRET = b"k" * 32
COVER = png(200, 30, 30)
TAGS = Tags(
    title="Hélls Bells",
    artists=("AC/DC", "B"),
    album="Back in Black",
    album_artist="AC/DC",
    compilation=True,
    disc=1,
    track=2,
    track_total=10,
    year=1980,
    genres=("Hard Rock", "Rock"),
)


OF_SAMPLES = {"wav": wav, "flac": flac}
OF_SILENCE = {"mp3": mp3, "opus": opus, "m4a": m4a}
FORMATS = (*OF_SAMPLES, *OF_SILENCE)


def sound(name: str, seconds: float, tags: Tags, cover: bytes | None = None) -> bytes:
    """The bytes of an audio file in a format."""
    if name in OF_SAMPLES:
        return OF_SAMPLES[name](tone(440, seconds), tags, cover)
    return OF_SILENCE[name](seconds, tags, cover)


@asynccontextmanager
async def open_files(name: str, directory: Path) -> AsyncIterator[Files]:
    """Open an empty store of the implementation."""
    if name == "local":
        files: Files = await LocalFiles.open(
            directory / "files", base_url="http://files.example", key=SECRET
        )
    else:
        bucket = f"b{uuid4()}"
        with aws_environment():
            files = await S3Files.open(bucket, region=REGION, endpoint_url=moto_endpoint())
        await files._client.create_bucket(Bucket=bucket)
    try:
        yield files
    finally:
        await files.close()


async def single_chunk(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def put(library: AudioLibrary, name: str, content: bytes) -> str:
    """Upload a file as a client would, but without the form; return its key."""
    upload = await library.registering.upload(name)
    files = library.registering.sources.files
    await files.write(upload.object_key, single_chunk(content), content_type="audio/x")
    return upload.object_key


async def upload_and_register(library: AudioLibrary, name: str, content: bytes) -> Audio:
    return await library.registering.register(await put(library, name, content))


async def content_of(files: Files, key: str) -> bytes:
    return b"".join([chunk async for chunk in files.read(key)])

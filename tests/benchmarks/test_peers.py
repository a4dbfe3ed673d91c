"""The benchmark of peers sends the right requests, and its arithmetic and tables are correct."""

import os
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from inspect import isawaitable
from itertools import chain
from pathlib import Path

import orjson
import pytest
from graphql import build_ast_schema, find_schema_changes, parse
from httpx import ASGITransport, AsyncClient
from strawberry import Schema
from strawberry.types import ExecutionResult

from benchmarks.peers import __main__ as runner
from benchmarks.peers import strawberry_types
from benchmarks.peers.competitors import HERE, Interpreters, LaunchOptions, command, peers
from benchmarks.peers.documents import DOCUMENTS, Document, Style, documents_of
from benchmarks.peers.handwritten import Handwritten, Rows
from benchmarks.peers.load_generator import (
    LoadGenerator,
    LoadResult,
    WrongAnswer,
    request,
    send_once,
)
from benchmarks.peers.penstock_app import penstock_quiet
from benchmarks.peers.performance_targets import PROMISES, verdicts
from benchmarks.peers.processes import memory_of, seconds_of
from benchmarks.peers.query_shapes import SHAPES
from benchmarks.peers.record_sources import MemorySource, Source, TableSource
from benchmarks.peers.records import ITEMS, Data, Owner, item_of, make_data, rows_of
from benchmarks.peers.reference_answers import ReferenceAnswers
from benchmarks.peers.result_tables import Spread, cpu_table, format_number, pace_table, ratios
from benchmarks.peers.results_page import tables
from benchmarks.peers.rounds import (
    Length,
    MeasurementPlan,
    Sample,
    latency_at,
    rotate,
    sign_tokens,
)
from benchmarks.peers.server_options import TABLE, PeerOptions
from benchmarks.peers.traffic import (
    CALLERS,
    Call,
    Destination,
    alike_calls,
    draw_calls,
    encode,
    encode_registration,
)
from penstock.datastore.table.port import Put
from penstock.schema.engine.documents import core_schema
from tests.support.stores import open_table

ENGINES = Interpreters("/node", "/bun", "/go-server")
TITLES = {"penstock": "Penstock", "mercurius": "Mercurius"}
COLUMNS = {"one": "one object"}
SHAPE_NAMES = [shape.name for shape in SHAPES]
shapes = pytest.mark.parametrize("shape", SHAPE_NAMES)


def sample(peer: str, number: int, cpu: float, shape: str = "one") -> Sample:
    return Sample(peer, shape, number, cpu, 1_000.0, 0.001, 0.002, 50 * 2**20)


SAMPLES = [
    sample("penstock", 0, 0.0001),
    sample("penstock", 1, 0.0002),
    sample("penstock", 2, 0.0001),
    sample("mercurius", 0, 0.0002),
    sample("mercurius", 1, 0.0002),
    sample("mercurius", 2, 0.0003),
]


@pytest.fixture(scope="module")
def data() -> Data:
    return make_data()


async def owner_of(source: Source, owner: str) -> Owner:
    found = source.owners([owner])
    (one,) = await found if isawaitable(found) else found
    return one


async def answer_call(source: Source, call: Call) -> object:
    """Strawberry's answer to a call over a source."""
    strawberry_types.access.source = lambda _: source
    strawberry_types.access.owner = lambda _, owner: owner_of(source, owner)
    found = await Schema(strawberry_types.Query).execute(
        call.document.text, variable_values=call.variables
    )
    assert isinstance(found, ExecutionResult)
    assert found.errors is None
    return {"data": found.data}


def first_calls(shape: str) -> list[Call]:
    """The alike call of a shape, and the first one of each of its documents."""
    firsts: dict[str, Call] = {}
    for call in draw_calls(shape, 200, ITEMS // 8):
        firsts.setdefault(call.document.name, call)
    return [*alike_calls(shape), *firsts.values()]


async def answer_by_hand(handwritten: Handwritten, call: Call) -> object:
    found = await getattr(handwritten, call.document.shape)(call.document, **call.variables)
    return {"data": found}


async def test_every_way_to_the_records_gives_the_only_right_answer(tmp_path: Path) -> None:
    few = make_data(ITEMS // 8)
    answers = ReferenceAnswers(few)
    async with open_table("sqlite", tmp_path) as table:
        puts = [Put(row) for row in rows_of(few)]
        for start in range(0, len(puts), 25):
            await table.write(puts[start : start + 25])
        for call in chain.from_iterable(map(first_calls, SHAPE_NAMES)):
            wanted = answers.answer(call.document, call.variables)
            for source in (MemorySource(few), TableSource(table)):
                assert await answer_call(source, call) == wanted
            for rows in (Rows(few), table):
                found = await answer_by_hand(Handwritten(rows), call)
                # By hand, keys have the order of the document, too.
                assert orjson.dumps(found) == orjson.dumps(wanted)


async def test_penstock_gives_the_right_answers_in_the_benchmark_too(
    data: Data, tmp_path: Path
) -> None:
    answers = ReferenceAnswers(data)
    token = {"Authorization": f"Bearer {sign_tokens(tmp_path)[0]}"}
    async with (
        penstock_quiet(PeerOptions(None, tmp_path, TABLE)) as app,
        AsyncClient(transport=ASGITransport(app), base_url="http://127.0.0.1:8000") as client,
    ):
        for call in chain.from_iterable(map(first_calls, SHAPE_NAMES)):
            request = {"query": call.document.text, "variables": call.variables}
            answer = await client.post("/graphql", json=request, headers=token)
            assert answer.json() == answers.answer(call.document, call.variables)


def test_the_answers_are_as_large_as_their_names_say(data: Data) -> None:
    answers = ReferenceAnswers(data)
    one, listed, owners, page = (
        answers.answer(call.document, call.variables)["data"]
        for name in SHAPE_NAMES
        for call in alike_calls(name)
    )
    assert len(one["item"]) == 8
    items = listed["items"]
    assert (len(items), len(items[0]), len(items[0]["tags"])) == (100, 9, 3)
    assert len({item["owner"]["id"] for item in owners["items"]}) == 100
    edges = page["page"]["edges"]
    assert (len(edges), len(edges[0]["node"]["parts"]["edges"])) == (20, 5)


def test_twenty_documents_differ_and_three_are_sent_by_their_digests() -> None:
    assert [len(documents_of(shape)) for shape in SHAPE_NAMES] == [5, 5, 5, 5]
    assert len({document.text for document in DOCUMENTS}) == 20
    assert len({document.operation for document in DOCUMENTS}) == 20
    assert sum(document.is_persisted for document in DOCUMENTS) == 3
    assert [documents_of(shape)[0].name for shape in SHAPE_NAMES] == SHAPE_NAMES


def test_a_document_of_apollo_has_typenames_below_its_root() -> None:
    document = Document("one-card", "one", 1, ("id", "name"), Style.TYPENAMES)
    assert document.text == (
        "query OneCard($id: ID!) {\n  item(id: $id) {\n    id\n    name\n    __typename\n  }\n}"
    )


@shapes
def test_a_stream_is_drawn_alike_and_its_requests_differ(shape: str) -> None:
    calls = draw_calls(shape, 600)
    assert calls == draw_calls(shape, 600)
    to = Destination(8000, False, True, [f"token-{number}" for number in range(CALLERS)])
    assert len({encode(call, to) for call in calls}) == 600
    assert {call.caller for call in calls} == set(range(CALLERS))
    assert {call.client for call in calls} == {0, 1, 2}
    assert {call.document.name for call in calls} == {d.name for d in documents_of(shape)}
    heaviest, lightest = documents_of(shape)[0], documents_of(shape)[-1]
    count = Counter(call.document.name for call in calls)
    assert count[heaviest.name] > 2 * count[lightest.name]


def test_a_document_with_a_digest_is_sent_by_get() -> None:
    document = documents_of("one")[1]
    call = Call(document, {"id": "item-0001"}, 3, 2, "0af7651916cd43dd8448eb211c80319c")
    tokens = [f"token-{number}" for number in range(CALLERS)]
    sent = encode(call, Destination(8000, False, True, tokens)).decode().split("\r\n")
    assert sent == [
        "GET /graphql?operationName=OneCard&variables=%7B%22id%22%3A%22item-0001%22%7D"
        "&extensions=%7B%22persistedQuery%22%3A%7B%22version%22%3A1%2C%22sha256Hash%22%3A%22"
        f"{document.digest}%22%7D%7D HTTP/1.1",
        "Host: 127.0.0.1:8000",
        "Accept: application/json",
        "Accept-Encoding: gzip, deflate",
        "Connection: keep-alive",
        "User-Agent: python-httpx/0.28.1",
        "Apollo-Require-Preflight: true",
        "Authorization: Bearer token-3",
        "X-Forwarded-For: 198.51.100.10",
        "X-Request-Id: 0af7651916cd43dd",
        "traceparent: 00-0af7651916cd43dd8448eb211c80319c-8448eb211c80319c-01",
        "",
        "",
    ]
    without = encode(call, Destination(8000, False, False, tokens)).decode()
    assert "&query=query%20OneCard" in without
    by_post = encode(call, Destination(8000, False, False, tokens, takes_get=False)).decode()
    assert by_post.startswith("POST /graphql HTTP/1.1\r\n")
    assert orjson.loads(by_post.rpartition("\r\n")[2])["query"] == document.text
    by_hand = encode(call, Destination(8000, True, False, tokens)).decode()
    assert by_hand.startswith("GET /one-card?")
    registered = encode_registration(document, Destination(8000, False, True, tokens))
    head, _, body = registered.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /graphql HTTP/1.1\r\n")
    assert orjson.loads(body)["query"] == document.text


def test_records_come_back_from_their_rows(data: Data) -> None:
    rows = [row for row in rows_of(data) if row["pk"] == "LIST"]
    assert tuple(map(item_of, rows)) == data.items


def test_the_two_schemas_are_one() -> None:
    written = parse((HERE / "schema.graphql").read_text())
    assert (
        find_schema_changes(build_ast_schema(written), core_schema(Schema(strawberry_types.Query)))
        == []
    )


@contextmanager
def serve_pieces(answers: list[bytes], connections: int) -> Iterator[int]:
    """Serve these pieces for each request on each connection; give the port."""

    def answer(connection: socket.socket) -> None:
        # A client may close the connection before it has read all answers.
        with connection, suppress(OSError):
            while connection.recv(65536):
                for piece in answers:
                    connection.sendall(piece)

    def accept() -> None:
        for _ in range(connections):
            pool.submit(answer, listener.accept()[0])

    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        ThreadPoolExecutor(connections + 1) as pool,
    ):
        accepting = pool.submit(accept)
        yield listener.getsockname()[1]
        accepting.result(10)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\nContent-", b"Length: 10\r\n\r\n12345", b"67890"],
        [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n5\r",
            b"\n67890\r\n0\r",
            b"\n\r\n",
        ],
    ],
    ids=["with a length", "in chunks"],
)
def test_answers_are_read_to_their_end_and_counted(pieces: list[bytes]) -> None:
    with serve_pieces(pieces, connections=3) as port:
        asked = request(port, "/graphql", b"{}", {"X": "y"})
        assert send_once(port, asked) == (200, b"1234567890")
        with closing(LoadGenerator(port, [asked], 2)) as generator:
            for _ in range(2):
                loaded = generator.run(0.05)
                assert len(loaded.latencies) >= 2
                assert all(0 < latency < loaded.seconds for latency in loaded.latencies)
                assert loaded.samples == {0: b"1234567890"}


def test_an_answer_that_is_no_success_ends_the_run() -> None:
    with (
        serve_pieces([b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"], connections=2) as port,
        closing(LoadGenerator(port, [b"x"], 2)) as generator,
        pytest.raises(WrongAnswer, match="500"),
    ):
        generator.run(0.05)


def test_percentiles_are_of_the_latencies_in_order() -> None:
    loaded = LoadResult(1.0, [0.004, 0.001, 0.003, 0.002], {})
    assert (latency_at(loaded, 0.5), latency_at(loaded, 0.99)) == (0.003, 0.004)


def test_processor_time_and_memory_are_read_from_proc() -> None:
    fields = " ".join(str(n) for n in range(3, 53))
    assert seconds_of(f"7 (a ) name) {fields}") == pytest.approx(
        (14 + 15) / os.sysconf("SC_CLK_TCK")
    )
    assert memory_of("Name:\tx\nVmRSS:\t   2048 kB\n") == 2 * 2**20


def test_ratios_are_taken_within_a_round() -> None:
    found = ratios(SAMPLES, "penstock", "one", "mercurius")
    assert found == pytest.approx(Spread(1.0, 2.0, 3.0))
    assert ratios(SAMPLES, "penstock", "one", "apollo") is None


def test_figures_have_three_digits() -> None:
    assert [format_number(n) for n in (0.123, 1.5, 12.34, 123.4, 12_345.6)] == [
        "0.12",
        "1.50",
        "12.3",
        "123",
        "12,346",
    ]


def test_tables_say_microseconds_ratios_pace_and_memory() -> None:
    assert cpu_table(SAMPLES, TITLES, COLUMNS, "mercurius").splitlines() == [
        "| CPU µs · ratio | one object |",
        "|---|--:|",
        "| Penstock | 100 · 1.00 / **2.00** / 3.00 |",
        "| Mercurius | 200 |",
    ]
    assert pace_table(SAMPLES, TITLES, COLUMNS).splitlines()[2] == (
        "| Penstock | 1,000 · 1.00 · 2.00 | 50 |"
    )


def test_promises_are_held_against_the_middle() -> None:
    (kept,) = verdicts(SAMPLES, "memory", "penstock")
    assert (kept.promise.shape, kept.promise.times, kept.is_kept) == ("one", 1.0, True)
    slow = [one._replace(cpu=one.cpu * 3) if one.peer == "penstock" else one for one in SAMPLES]
    (missed,) = verdicts(slow, "memory", "penstock")
    assert not missed.is_kept


def test_promises_are_of_servers_and_shapes_that_there_are() -> None:
    names = {peer.name for peer in peers(ENGINES)}
    assert {promise.than for promise in PROMISES} <= names
    assert {promise.shape for promise in PROMISES} == {shape.name for shape in SHAPES}


def test_by_hand_is_at_most_twice_as_fast_in_each_mode_and_shape() -> None:
    promised = [(one.mode, one.shape, one.times) for one in PROMISES if one.than == "handwritten"]
    assert promised == [(mode, shape, 0.5) for mode in runner.MODES for shape in SHAPE_NAMES]


def test_slower_servers_take_part_in_three_rounds() -> None:
    by_name = {peer.name: peer for peer in peers(ENGINES)}
    assert [by_name["yoga"].takes_part(number) for number in range(4)] == [True, True, True, False]
    assert all(by_name[name].takes_part(6) for name in ("penstock", "mercurius", "go"))


def test_a_table_shows_the_servers_that_take_part_in_its_mode() -> None:
    plan = MeasurementPlan(peers(ENGINES), SHAPES, 1, Length(0.1, 0.1, 1))
    in_memory, in_store = (
        [peer.name for peer in plan.in_mode(mode).peers] for mode in ("memory", "store")
    )
    assert in_memory == [peer.name for peer in plan.peers]
    assert in_store == [name for name in in_memory if name != "go"]
    samples = [sample(name, 0, 0.0001, shape.name) for name in in_store for shape in SHAPES]
    shown = tables(samples, "store", plan.in_mode("store").peers, SHAPES)
    assert "Mercurius + JIT" in shown
    assert "Go" not in shown


def test_each_round_begins_with_another_server() -> None:
    assert [rotate(["a", "b", "c"], n) for n in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_a_command_says_where_the_records_are(tmp_path: Path) -> None:
    by_name = {peer.name: peer for peer in peers(ENGINES, [("/py", "3.13.0")])}
    memory, store = (
        LaunchOptions(1, tmp_path, None),
        LaunchOptions(1, tmp_path, "http://127.0.0.1:2"),
    )
    other = command(by_name["penstock@3.13.0"], store)
    assert other[:4] == ["/py", "-m", "benchmarks.peers.serve", "penstock"]
    assert other[-2:] == ["--endpoint", "http://127.0.0.1:2"]
    assert command(by_name["apollo"], memory)[2:4] == ["apollo", "1"]
    assert len(command(by_name["apollo"], store)) == len(command(by_name["apollo"], memory)) + 2
    on_bun = command(by_name["yoga_bun"], memory)
    assert (on_bun[0], on_bun[2:4]) == ("/bun", ["yoga", "1"])
    assert command(by_name["go"], memory)[:2] == ["/go-server", "1"]
    without = peers(ENGINES._replace(go_server=None))
    assert [peer.name for peer in peers(ENGINES) if peer not in without] == ["go"]


def test_a_page_without_a_place_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin alike memory --> <!-- end alike memory -->")
    for name in ("node", "bun", "go_server", "versions_of"):
        monkeypatch.setattr(runner, name, lambda *_: {})
    assert runner.main(["--alike", "--write", str(page)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "the page has 0 places for 'alike store'"

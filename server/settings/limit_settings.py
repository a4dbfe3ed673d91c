"""The settings that limit a request, a stream or a search."""

from pydantic import Field
from pydantic_settings import BaseSettings

from penstock.datastore.datasets.limits import COPIED_BYTES, LARGEST
from penstock.datastore.objects.port import OBJECT_BYTES
from penstock.datastore.table.counters import SHARDS


class LimitSettings(BaseSettings):
    """Limits that are independent of each other."""

    max_connections: int | None = Field(
        None,
        gt=0,
        description="Most connections with an open request or stream in one server process. More "
        "requests get 503, except those to the health endpoints; silent connections beyond it are "
        "closed, the oldest first. One caller may use half of them. By default two thirds of the "
        "file descriptors beyond 128, at most 8,000; a higher value counts as far as the "
        "descriptors suffice. Half as many connections may send or receive a file at `/files/`.",
    )
    head_seconds: float = Field(
        10,
        gt=0,
        description="Time for a new connection to send the head of its first request, and for the "
        "head of each later one from its first byte, in seconds.",
    )
    idle_seconds: float = Field(
        75,
        gt=0,
        description="Time that a connection may stay open between two requests, in seconds. Make "
        "it longer than the idle time of a load balancer in front.",
    )
    stall_seconds: float = Field(
        60,
        gt=0,
        description="Time after which a connection is closed whose client takes nothing of its "
        "answer, or sends nothing of its body, in seconds.",
    )
    max_body_bytes: int = Field(1_000_000, gt=0, description="Largest request body, in bytes.")
    max_bodies_bytes: int = Field(
        64 * 2**20,
        gt=0,
        description="Most memory for the bodies of requests that are under way in one server "
        "process, and for messages of WebSockets that are arriving, in bytes. One caller, or one "
        "address before its caller is known, may have half of it; more gets 429, or 503 if all of "
        "it is taken, or the close code 1013. It suffices for two of the largest bodies in any "
        "case.",
    )
    max_document_chars: int = Field(
        50_000, gt=0, description="Longest GraphQL document, in characters."
    )
    max_tokens: int = Field(2_000, gt=0, description="Most tokens in a document.")
    max_comments: int = Field(200, ge=0, description="Most comments in a document.")
    max_depth: int = Field(12, gt=0, description="Deepest nesting of fields in an operation.")
    max_aliases: int = Field(30, ge=0, description="Most aliases in an operation.")
    max_directives: int = Field(50, ge=0, description="Most directives in an operation.")
    max_fields: int = Field(
        2_000,
        gt=0,
        description="Most fields in an operation, each fragment counted where it is used.",
    )
    max_operations: int = Field(10, gt=0, description="Most operations in a document.")
    max_mutation_fields: int = Field(10, gt=0, description="Most root fields in a mutation.")
    max_input_values: int = Field(
        4_000,
        gt=0,
        description="Most values in the variables of an operation. Lists and inputs count, the "
        "inside of a JSON value does not. The values of a variable count at each of its uses.",
    )
    max_cost: int = Field(5_000, gt=0, description="Highest computed cost of an operation.")
    max_answer_values: int = Field(
        250_000,
        gt=0,
        description="Most values in the answer of an operation; then it fails with "
        "`LIMIT_EXCEEDED`. The fields of objects in lists count, and the values inside JSON. On "
        "the first run of a document each value counts four times.",
    )
    max_answer_bytes: int = Field(
        16 * 2**20, gt=0, description="Largest answer of an operation, in bytes, roughly."
    )
    rate_limit_per_second: float = Field(
        2_000,
        ge=0,
        description="Cost that one caller may spend a second at each server, so divide by the "
        "number of servers; 0 for no limit. An operation spends its computed cost, at least 1, and "
        "the cost of the documents and formulas that are read for it, and of what it writes.",
    )
    rate_limit_burst: int = Field(
        20_000, gt=0, description="Cost that one caller may spend at once after a pause."
    )
    max_running_operations: int = Field(
        8,
        gt=0,
        description="Most operations of one caller that run at once in one server process; more "
        "wait, so that callers take turns.",
    )
    max_open_uploads: int = Field(
        100,
        gt=0,
        le=10_000,
        description="Most uploads that one caller may have open: not used yet, while their form is "
        "valid or their file is stored.",
    )
    max_open_uploads_of_group: int = Field(
        1_000,
        gt=0,
        le=10_000,
        description="Most uploads that the callers of one group may have open for it together.",
    )
    max_errors: int = Field(5, gt=0, description="Most errors reported for one document.")
    deadline_seconds: float = Field(
        10, gt=0, description="Time limit of an operation, in seconds; then it fails with TIMEOUT."
    )
    body_read_seconds: float = Field(
        2, gt=0, description="Time for the client to send a request body, in seconds."
    )
    max_streams_per_caller: int = Field(
        20,
        gt=0,
        description="Most WebSocket connections and event streams that one caller may hold open in "
        "one server process.",
    )
    max_unproven_streams: int = Field(
        200,
        gt=0,
        description="Most WebSocket connections in one server process whose client is not yet "
        "authenticated. For one more the server closes the oldest of the address that has the "
        "most, with 1013, try again later.",
    )
    max_stream_operations: int = Field(
        50, gt=0, description="Most operations that run at once over one WebSocket connection."
    )
    stream_messages_per_second: int = Field(
        50,
        gt=0,
        description="Messages a second that the server reads from a WebSocket connection. After a "
        "pause it reads as many at once; more have to wait.",
    )
    stream_queue: int = Field(
        16,
        gt=0,
        description="Answers in the queue of a stream whose client reads slowly. When the queue is "
        "full, subscriptions wait; those to changes then skip to the latest.",
    )
    stream_init_seconds: float = Field(
        10,
        gt=0,
        description="Time for the client of a WebSocket connection to send `connection_init`, in "
        "seconds.",
    )
    change_poll_seconds: float = Field(
        1,
        gt=0,
        description="Seconds between two reads of the rows that subscriptions follow. Each read "
        "costs half a read unit or more for each row.",
    )
    dataset_cache_bytes: int = Field(
        128 * 2**20,
        ge=0,
        description="Memory for the cache of recently used reference datasets, in bytes, roughly.",
    )
    dataset_index_cache_bytes: int = Field(
        COPIED_BYTES,
        ge=0,
        description="Disk space for copies of the indexes of large reference datasets in the "
        "folder for temporary files, beyond those in use, in bytes.",
    )
    max_dataset_bytes: int = Field(
        LARGEST.size,
        gt=0,
        le=OBJECT_BYTES,
        description="Largest file of a reference dataset, in bytes. The server that reads it needs "
        "as much space in the folder for temporary files, and for the index up to ten times as "
        "much, mostly four times.",
    )
    max_dataset_rows: int = Field(
        LARGEST.rows, gt=0, description="Most rows of a reference dataset."
    )
    max_dataset_fields: int = Field(
        LARGEST.fields,
        gt=0,
        description="Most fields of a reference dataset, that is rows times columns. Reading "
        "takes 2 seconds of processor time for a million.",
    )
    counter_shards: int = Field(
        SHARDS,
        ge=1,
        le=64,
        description="Rows of each count of the resources of a group or of a tag, and of the runs "
        "of a manifest. With more rows, servers that write to one group get in each other's way "
        "less, and lists of tag values read more. May change at any time; servers may have "
        "different numbers.",
    )
    search_max_units: int = Field(
        500,
        gt=0,
        description="Read units a search by tags may use before it ends with a short page.",
    )
    search_max_round_trips: int = Field(
        50,
        gt=0,
        description="Round trips to the store a search by tags may make before it ends with a "
        "short page.",
    )

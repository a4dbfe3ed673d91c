"""The single table: each row is declared here once; docs/data-model.md describes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from penstock.datastore.records import (
    Calculation,
    CalculationVersion,
    Metric,
    MetricVersion,
    Pipeline,
    PipelineVersion,
    ReferenceDataset,
    ReferenceDatasetVersion,
    Resource,
)
from penstock.datastore.table.keys import KeyPart, Template
from penstock.datastore.table.port import INDEX_HASH, Item, Key

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of `data-model.md`: the templates of `pk`, `sk` and, for indexed items, `siKey1`."""

    pk: Template
    sk: Template
    index: Template | None = None

    def key(self, **values: KeyPart) -> Key:
        return Key(self.pk.fill(values), self.sk.fill(values))

    def holds(self, key: Key) -> bool:
        """Whether a key is that of an item of this row."""
        return self.pk.fits(key.pk) and self.sk.fits(key.sk)

    def is_listed(self, key: Key, partition: str) -> bool:
        """Whether the partition of the index is one that may list the item under this row's key."""
        if self.index is None or not self.index.fits(partition):
            return False
        values = {**self.pk.parse(key.pk), **self.sk.parse(key.sk)}
        given = self.index.parse(partition).items()
        return all(values.get(name, value) == value for name, value in given)

    def index_partition(self, **values: KeyPart) -> str:
        """The partition of the index that lists items of this row."""
        if self.index is None:
            raise ValueError(f"{self.pk.text} is not indexed")
        return self.index.fill(values)

    def item(self, **values: KeyPart) -> Item:
        """The key attributes of an item of this row."""
        item: Item = {"pk": self.pk.fill(values), "sk": self.sk.fill(values)}
        if self.index is not None:
            item[INDEX_HASH] = self.index_partition(**values)
        return item


def row(pk: str, sk: str, index: str | None = None) -> Row:
    return Row(Template(pk), Template(sk), None if index is None else Template(index))


@dataclass(frozen=True, slots=True)
class KindDefinition(Generic[R]):
    """A kind of resource: its letter, its rows and its records.

    `formulas` are the formulas in its fields that may call calculations, and `formula_field` is
    the field that has them. `execution_count` is the row that counts a resource's executions, which
    must be deleted before it. `folder` is the folder of one resource's files, if the kind has
    files.
    """

    letter: str
    noun: str
    latest: Row
    version: Row
    record: type[R]
    version_record: type[R]
    formulas: Callable[[R], Sequence[str]]
    formula_field: str | None = None
    execution_count: Row | None = None
    folder: str | None = None

    @property
    def title(self) -> str:
        """The noun as the name of a GraphQL type."""
        return self.noun.title().replace(" ", "")

    @property
    def version_title(self) -> str:
        return f"{self.title}Version"


EXECUTION_COUNT = row("P:{id}", "PEC")

PIPELINE = KindDefinition(
    letter="P",
    noun="pipeline",
    latest=row("P:{id}", "PV:latest"),
    version=row("P:{id}", "PV:{version.10}"),
    record=Pipeline,
    version_record=PipelineVersion,
    formulas=lambda pipeline: [one.formula for one in pipeline.transformer.transforms],
    formula_field="transformer",
    execution_count=EXECUTION_COUNT,
)

CALCULATION = KindDefinition(
    letter="C",
    noun="calculation",
    latest=row("C:{id}", "C"),
    version=row("C:{id}", "CV:{version.10}"),
    record=Calculation,
    version_record=CalculationVersion,
    formulas=lambda calculation: [calculation.formula],
    formula_field="formula",
)

REFERENCE_DATASET = KindDefinition(
    letter="D",
    noun="reference dataset",
    latest=row("D:{id}", "D"),
    version=row("D:{id}", "DV:{version.10}"),
    record=ReferenceDataset,
    version_record=ReferenceDatasetVersion,
    formulas=lambda _: (),
    folder="datasets/{id}/",
)

METRIC = KindDefinition(
    letter="M",
    noun="metric",
    latest=row("M:{id}", "M"),
    version=row("M:{id}", "MV:{version.10}"),
    record=Metric,
    version_record=MetricVersion,
    formulas=lambda _: (),
)

KINDS: tuple[KindDefinition[Any], ...] = (PIPELINE, CALCULATION, REFERENCE_DATASET, METRIC)
KIND_OF_LETTER: Final[Mapping[str, KindDefinition[Any]]] = {kind.letter: kind for kind in KINDS}

LISTED = row("{kind}:{id}", "L", "{kind}")
GRANT = row("{kind}:{id}", "G:{group}", "G:{group}")
OWNED = row("{kind}:{id}", "O:{group}", "O:{group}")
USED_BY = row("{kind}:{id}", "UB:{group}:{by_kind}:{by}")
USE_COUNT = row("{kind}:{id}", "UC")
UNFINISHED = row("{kind}:{id}", "W:{revision.10}", "W:{kind}")
NAME = row("AID:{kind}:{name}", "G:{group}")
GROUP = row("G:{parent}", "G:{group}")
GROUP_COUNT = row("GC:{group}", "GC:{shard.2}")
SHARED_PIPELINE = row("PS:{group}", "PS:{owner}:{id}")
TAG = row("T:{group}:{key}", "T:{value}:{kind}:{id}")
NAME_WORD = row("NW:{group}:{kind}", "NW:{word}:{id}")
TAG_VALUE_COUNT = row("TA:{group}:{key}", "TA:{kind}:{depth.2}:{value~}")
TAG_KEY_COUNT = row("TA:{group}:{key~}", "TA:{kind}", "TA:{group}:{kind}")
TOMBSTONE = Template("X:{kind}")
IDEMPOTENCY = row("IK:{user}:{key}", "IK")
API_KEY = row("AK:{id}", "AK", "AK:{user}")
ROSTER = row("RO:{user}", "RO:{kind}")
SECRET = row("K:{name}", "K")
SCHEMA_MARKER = row("SM", "SM")
JOB = row("J:{id}", "J", "J:pending")
JOB_OF_GROUP = row("JG:{group}", "JL:{id}")
JOB_AT_GROUP = row("JA:{group}", "JL:{id}")
JOB_OF_USER = row("JU:{user}", "JL:{id}")
HISTORY = row("AT:{kind}:{of}", "AT:{entry}")
WORKER = row("WK", "WK:{name}")
WORK_DEBT = row("WD", "WD:{user}")
CHANGE = row("CL:{kind}:{shard.2}", "CL:{changed.13}:{id}:{step}")
EXECUTION = row("PE:{id}", "PE:P", "P:{pipeline}")
EXECUTION_PLAN = row("PE:{id}", "PEP")
EXECUTION_EVENT = row("PE:{id}", "PEH:{seq.10}")
EXECUTION_RESULT = row("P:{id}", "PER:{digest}")
ROWS_HEAD = row("P:{id}", "PKR", "PKR")
ROWS_PART = row("KR:{id}", "KR:{commit.10}")
ROWS_MERGED = row("KR:{id}", "KR:M:{commit.10}")
ROWS_LIMIT = row("P:{id}", "PKD", "PKD")
EXECUTION_DUE = row("PED:{stage}:{shard.2}", "PED:{due.13}:{id}")
EXECUTION_LISTED = row("EL:{group}:{state}", "EL:{id}")
EXECUTION_ENDED = row("EE:{group}:{state}", "EE:{ended.13}:{id}")

LIBRARY = row("U:{user}", "U")
AUDIO = row("U:{user}", "AU:{audio}")
AUDIO_BY_ARTIST = row("U:{user}", "AUR:{artist}:{year.4}:{album}:{disc.3}:{track.4}:{audio}")
AUDIO_BY_ALBUM = row("U:{user}", "AUL:{title}:{album}:{disc.3}:{track.4}:{audio}")
AUDIO_BY_GENRE = row("U:{user}", "AUG:{genre}:{audio}")
AUDIO_BY_BUCKET = row("U:{user}", "AUB:{bucket}:{hash}")
AUDIO_WORD = row("U:{user}", "AUW:{word}:{audio}")
AUDIO_MISSING = row("U:{user}", "AUX:{content}:{audio}")
ARTIST = row("U:{user}", "AR:{name}:{artist}")
ALBUM = row("U:{user}", "AL:{name}:{album}")
GENRE = row("U:{user}", "AG:{name}:{genre}")
COVER = row("U:{user}", "AC:{artwork}")
CONNECTION = row("U:{user}", "CN:{connection}")
PLAYER_PASSWORD = row("U:{user}", "PP:{password}")
IMPORT_FAILURE = row("U:{user}", "IJ:{job}:{hash}")
OPEN_IMPORTS = row("UI:{user}", "UI")
DESTINATION = row("ND:{service}", "ND:{table}", "ND")
DESTINATION_NAME = row("NT:{table}", "NT")
ADOPTION = row("NF:{table}", "NF")
NOTIFIED = row("NR:{id}", "NR")
INGEST_COUNT = row("NC:{service}:{path}", "NC:{shard.2}")
OPEN_PREFIX = "open:"
"""Before the id of a segment: an attribute of an `INGEST_COUNT` that names the segment's run."""
SETTLED_PREFIX = "settled:"
"""Before the mark of a run: an attribute of an `INGEST_COUNT` with bits of its settled segments."""
DEAD_PREFIX = "dead:"
"""Before the mark of a run: an attribute of an `INGEST_COUNT` with the dead events of a segment."""
REMOVALS = "removals"
"""The attribute of an `INGEST_COUNT` that counts removals of entities from the directory."""
DEAD_LETTER = row("NX:{id}", "NX", "NX:{service}:{path}")
NAMING_RULES = row("NM:{kind}", "NM")
SERVICE = row("NS", "NS:{group}:{service}")
SERVICE_PATH = row("NP:{service}", "NP:{group}:{path}")
ENTITY = row("NE:{service}:{path}", "NE:{entity}:{type}")
ATTRIBUTE = row("NA:{service}:{path}:{entity}:{type}", "NA:{attribute}")
KEPT_HOURS = row("NH:{service}:{path}:{entity}:{type}:{attribute}", "NH:{day.5}")
KEPT_MINUTES = row("NH:{service}:{path}:{entity}:{type}:{attribute}", "NHM:{day.5}")
KEPT_NUMBERS = row("NH:{service}:{path}:{entity}:{type}:{attribute}", "NHN:{day.5}")
HOUR_GENERATION = row("NG:{service}:{path}:{entity}:{type}", "NG:{hour.7}")
HOUR_DELETIONS = row("NG:{service}:{path}:{entity}:{type}", "NGD")
LATEST_SAMPLES = row("NL:{service}:{path}:{entity}:{type}", "NL")
MANIFEST = row("RM:{group}", "RM:{name}", "RM")
CONSUMER_PREFIX = "consumer:"
"""Before the name of a consumer: an attribute of a `MANIFEST`."""
MANIFEST_COUNT = row("RC:{manifest}", "RC:{shard.2}")
RUN = row("R:{manifest}:{run}", "R")
RUN_EVENT = row("R:{manifest}:{run}", "RH:{seq.10}")
RUN_LISTED = row("RL:{manifest}:{list}", "RL:{added.10}:{id}")
STAGED = row("F:{id}", "F", "F:staged")
KEPT = row("QG:{top}", "QG:{group}:{user}:{shard.2}")
KEPT_OF_USER = row("QU:{user}", "QU:{group}:{shard.2}")
QUOTA_GATE = row("QL:{kind}:{holder}", "QL")
OPEN_UPLOAD = row("FU:{kind}:{holder}", "FU:{place.4}")
LOOSE_OBJECT = row("LO:{hash}", "LO")
LOOSE_OBJECT_DUE = row("LD:{due.13}:{hash}", "LD", "LD")
COPY_COUNT = row("U:{user}", "MC:{kind}")
COPY_LISTED = row("U:{user}", "MCL:{kind}:{due.13}:{hash}")
LIBRARY_UPKEEP = row("LU:{user}", "LU", "LU")
IMPORT = row("MI", "MI:{archive}")
REPAIR = row("MR", "MR")

PLAYLIST = row("PL:{playlist}", "PL")
PLAYLIST_MEMBER = row("U:{user}", "PL:{playlist}", "PL:{playlist}")
PLAYLIST_ENTRY = row("PL:{playlist}", "PLI:{rank}:{entry}", "AU:{audio}")

ANNOTATION = row("U:{user}", "AN:{kind}:{id}")
FAVOURITE = row("U:{user}", "FV:{kind}:{at}:{id}")
PLAY = row("U:{user}", "HI:{at}:{audio}")
PLAY_QUEUE = row("U:{user}", "PQ")

ROWS = (
    PIPELINE.latest,
    PIPELINE.version,
    CALCULATION.latest,
    CALCULATION.version,
    REFERENCE_DATASET.latest,
    REFERENCE_DATASET.version,
    METRIC.latest,
    METRIC.version,
    NAME,
    GROUP,
    GROUP_COUNT,
    SHARED_PIPELINE,
    TAG,
    NAME_WORD,
    TAG_VALUE_COUNT,
    TAG_KEY_COUNT,
    IDEMPOTENCY,
    API_KEY,
    ROSTER,
    SECRET,
    SCHEMA_MARKER,
    JOB,
    JOB_OF_GROUP,
    JOB_AT_GROUP,
    JOB_OF_USER,
    HISTORY,
    WORKER,
    WORK_DEBT,
    CHANGE,
    LIBRARY,
    AUDIO,
    AUDIO_BY_ARTIST,
    AUDIO_BY_ALBUM,
    AUDIO_BY_GENRE,
    AUDIO_BY_BUCKET,
    AUDIO_WORD,
    AUDIO_MISSING,
    ARTIST,
    ALBUM,
    GENRE,
    COVER,
    CONNECTION,
    PLAYER_PASSWORD,
    IMPORT_FAILURE,
    OPEN_IMPORTS,
    EXECUTION,
    EXECUTION_PLAN,
    EXECUTION_EVENT,
    EXECUTION_COUNT,
    EXECUTION_RESULT,
    EXECUTION_DUE,
    EXECUTION_LISTED,
    EXECUTION_ENDED,
    ROWS_HEAD,
    ROWS_PART,
    ROWS_MERGED,
    ROWS_LIMIT,
    DESTINATION,
    DESTINATION_NAME,
    ADOPTION,
    NOTIFIED,
    INGEST_COUNT,
    DEAD_LETTER,
    NAMING_RULES,
    SERVICE,
    SERVICE_PATH,
    ENTITY,
    ATTRIBUTE,
    KEPT_HOURS,
    KEPT_MINUTES,
    KEPT_NUMBERS,
    HOUR_GENERATION,
    HOUR_DELETIONS,
    LATEST_SAMPLES,
    MANIFEST,
    MANIFEST_COUNT,
    RUN,
    RUN_EVENT,
    RUN_LISTED,
    STAGED,
    KEPT,
    KEPT_OF_USER,
    QUOTA_GATE,
    OPEN_UPLOAD,
    LOOSE_OBJECT,
    LOOSE_OBJECT_DUE,
    COPY_COUNT,
    COPY_LISTED,
    LIBRARY_UPKEEP,
    IMPORT,
    REPAIR,
    PLAYLIST,
    PLAYLIST_MEMBER,
    PLAYLIST_ENTRY,
    ANNOTATION,
    FAVOURITE,
    PLAY,
    PLAY_QUEUE,
)

"""The query that shows what the rule of a smart playlist chooses before it is kept."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.playlists import records
from penstock.resolvers import playlists
from penstock.schema.audio.playlist_rules import PlaylistRuleInput
from penstock.schema.audio.playlists import PlaylistEntry
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import ValidationProblem
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import Long


@strawberry.type(description="The tracks that a rule chooses in the caller's library now.")
class EvaluatePlaylistRulePayload:
    draft: strawberry.Private[records.Playlist]

    @strawberry.field(description="The number of tracks that the rule chooses.")
    async def entry_count(self, info: Info) -> int:
        return await playlists.count_entries(info.context, self.draft)

    @strawberry.field(description="The total length of these tracks in milliseconds.")
    async def duration_ms(self, info: Info) -> Long:
        return Long(await playlists.total_duration(info.context, self.draft))

    @strawberry.field(
        graphql_type=Connection[PlaylistEntry],
        description="The tracks as the entries of a smart playlist with this rule, in order; one "
        "that draws the order RANDOM by its id and the day has another order. Each page chooses "
        "all entries anew.",
    )
    async def entries(
        self,
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Entry]:
        return await read_connection(
            info,
            ("entries of a rule", self.draft.rule),
            page_from_arguments(first, after, last, before),
            lambda window: playlists.list_entries(info.context, self.draft, window),
        )


EvaluatePlaylistRuleResult = Annotated[
    EvaluatePlaylistRulePayload | ValidationProblem,
    strawberry.union(
        "EvaluatePlaylistRuleResult",
        description="The tracks that the rule chooses, or the reason why it is no rule.",
    ),
]


@strawberry.input(description="The rule to evaluate.")
class EvaluatePlaylistRuleInput:
    rule: PlaylistRuleInput = strawberry.field(description="The rule of a smart playlist.")


@strawberry.type
class RuleEvaluationQuery:
    @strawberry.field(
        graphql_type=EvaluatePlaylistRuleResult,
        description="Choose the entries that a smart playlist with a rule would have, and store "
        "nothing.",
    )
    @staticmethod
    async def evaluate_playlist_rule(
        info: Info, input: InputOf[EvaluatePlaylistRuleInput]
    ) -> EvaluatePlaylistRulePayload:
        rule = input.rule.record()
        return EvaluatePlaylistRulePayload(draft=playlists.draft_smart(info.context, rule))

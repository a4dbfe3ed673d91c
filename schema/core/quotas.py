"""The type of quotas: what is kept, and how much may be."""

import strawberry

from penstock.datastore.quota_kinds import QuotaKind
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import Long

__all__ = ("Quota", "QuotaKind")

strawberry.enum(
    QuotaKind, description="The kinds of things that quotas limit. New kinds may be added."
)
describe_values(
    QuotaKind,
    {
        QuotaKind.RESOURCES: "Pipelines, calculations and reference datasets, counted together.",
        QuotaKind.VERSIONS: "All versions of these resources.",
        QuotaKind.FILES: (
            "The files of all versions of reference datasets, and of each execution the input, the "
            "CSV that was made of it, and the results as one; of a user also the tracks of the "
            "audio library."
        ),
        QuotaKind.BYTES: "The sizes of these files together, in bytes.",
        QuotaKind.OPEN_UPLOADS: (
            "Uploads that were not used yet, while their form is valid or their file is stored. "
            "Those of a group are for the group itself, not for the groups below."
        ),
    },
)


@strawberry.type(description="The use of a quota: that of a user, or of a group with all below it.")
class Quota:
    kind: QuotaKind = strawberry.field(description="The kind of things that the quota limits.")
    maximum: Long | None = strawberry.field(
        description="The largest amount that may be kept; null if there is no limit."
    )
    used: Long = strawberry.field(description="The amount that is kept now.")

"""The names that jobs and datasets have in the catalogue."""

from dataclasses import dataclass

from penstock.datastore.roles import ROOT
from penstock.server.lineage.events import JobName


@dataclass(frozen=True, slots=True)
class LineageNames:
    """The names of one installation.

    All that it runs is below `namespace`. `bucket` is that of its files, if it keeps any.
    """

    namespace: str
    bucket: str | None

    def job(self, group: str, name: str) -> JobName:
        """A job of a group."""
        return JobName(self.namespace if group == ROOT else f"{self.namespace}{group}", name)

    @property
    def files(self) -> str:
        """The namespace of the installation's files."""
        return f"s3://{self.bucket}" if self.bucket else self.namespace

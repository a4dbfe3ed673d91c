"""`penstock datasets`: lists reference datasets, finds them by tags, shows one."""

from collections.abc import Mapping
from typing import Any

from penstock.server.commands.client.listings import align_columns, format_value, print_fields
from penstock.server.commands.client.resource_commands import define_commands
from penstock.server.core.command_output import CommandOutput

SHOW = """query($id: ID!) { referenceDataset(id: $id) {
  id name description owner groups state version labels { label version } tags { key value }
  createdAt createdBy updatedAt updatedBy
  content { rowCount sizeBytes keyColumns columns { name type description } } } }"""

TITLES = {"COLUMN": "name", "TYPE": "type", "DESCRIPTION": "description"}


def print_dataset(dataset: Mapping[str, Any]) -> CommandOutput:
    """Print a reference dataset: its fields, and its columns."""
    content = dataset["content"]
    sizes = {name: content[name] for name in ("rowCount", "sizeBytes", "keyColumns")}
    fields = {name: value for name, value in dataset.items() if name != "content"} | sizes
    columns = [
        [format_value(column[field]) for field in TITLES.values()] for column in content["columns"]
    ]
    lines = [*print_fields(fields).text.splitlines(), "", *align_columns([[*TITLES], *columns])]
    return CommandOutput("\n".join(lines), dataset)


datasets = define_commands("dataset", SHOW, print_dataset)

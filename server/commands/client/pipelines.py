"""`penstock pipelines`: lists the pipelines that the caller sees, finds them by tags, shows one."""

from penstock.server.commands.client.formula_tables import PARAMETERS, TRANSFORMS, print_pipeline
from penstock.server.commands.client.resource_commands import define_commands

SHOW = f"""query($id: ID!) {{ pipeline(id: $id) {{
  id name description owner groups state version labels {{ label version }} tags {{ key value }}
  createdAt createdBy updatedAt updatedBy attributes
  transformer {{ extraColumns timestamps {PARAMETERS} {TRANSFORMS} }} }} }}"""

pipelines = define_commands("pipeline", SHOW, print_pipeline)

"""`penstock calculations`: lists calculations, finds them by tags, shows one."""

from penstock.server.commands.client.formula_tables import OUTPUTS, PARAMETERS, print_calculation
from penstock.server.commands.client.resource_commands import define_commands

SHOW = f"""query($id: ID!) {{ calculation(id: $id) {{
  id name description summary formula {PARAMETERS} {OUTPUTS}
  owner groups state version labels {{ label version }} tags {{ key value }}
  createdAt createdBy updatedAt updatedBy }} }}"""

calculations = define_commands("calculation", SHOW, print_calculation)

"""The server: the command line, the settings, and GraphQL over HTTP."""

import gc

# This comes before all other imports. The objects made at start-up stay, and a fifth of the
# start-up time would go into searching them for garbage.
gc.set_threshold(50_000, 20, 50)

"""The guard of connections in front of uvicorn: it frames requests, counts, and times."""

import os

from penstock.server.connections.request_head import MAX_HEAD_BYTES

# Read by the library when it is imported, which only modules of this package do. A line of a
# handshake may be as long as a head, and uvicorn writes a space behind the colon.
os.environ.setdefault("WEBSOCKETS_MAX_LINE_LENGTH", str(MAX_HEAD_BYTES + 1))

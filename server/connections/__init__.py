"""The guard of connections in front of uvicorn: it frames requests, counts, and times."""

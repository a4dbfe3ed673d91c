"""The intake of notifications: the thread that reads them, their queue, and its limits."""

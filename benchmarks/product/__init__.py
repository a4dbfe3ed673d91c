"""The cost of what the console asks of a server with many pipelines."""

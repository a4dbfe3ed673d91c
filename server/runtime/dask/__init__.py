"""Dask: the rows of executions on the machines of a cluster."""

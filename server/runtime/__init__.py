"""The processes of a server: serving, workers, jobs, maintenance and Dask."""

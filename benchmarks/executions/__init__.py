"""The benchmark of executions: rows a second of a core, stages of a row, large files, memory."""

"""Each benchmark at its whole size, and its tables in the pages: `make bench BENCH=--whole`."""

"""All benchmarks in a short form, beside the numbers of the last release: `make bench`."""

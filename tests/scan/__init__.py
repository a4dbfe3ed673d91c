"""Third-party scanners, run against the real server: `make scan`."""

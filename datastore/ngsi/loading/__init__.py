"""The loading of accepted events into their destinations: runs, lanes and the writer."""

"""Compares Penstock with other GraphQL servers on the same data, schema and machine."""

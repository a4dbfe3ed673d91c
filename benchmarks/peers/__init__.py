"""Penstock beside other GraphQL servers, on the same data, schema and machine."""

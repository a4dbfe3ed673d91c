"""Answers that go on: GraphQL over WebSocket and over server-sent events."""

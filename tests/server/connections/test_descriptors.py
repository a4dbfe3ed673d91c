"""The descriptors of a process decide how many connections it takes."""

import resource

import pytest

from penstock.server.connections.descriptors import connections_for, raise_descriptor_limit


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [
        (64, 16),
        (144, 16),
        (256, 128),
        (1_024, 896),
        (20_000, 8_000),
        (resource.RLIM_INFINITY, 8_000),
    ],
)
def test_some_descriptors_are_kept_for_the_store_and_files(
    descriptors: int, connections: int
) -> None:
    assert connections_for(descriptors) == connections


def test_the_limit_is_raised_as_far_as_the_system_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [(1_024, 4_096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: limits.append(wanted))
    assert raise_descriptor_limit() == 4_096
    assert raise_descriptor_limit() == 4_096
    assert limits == [(1_024, 4_096), (4_096, 4_096)]


def test_a_limit_that_cannot_be_raised_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int, _wanted: tuple[int, int]) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_descriptor_limit() == 256

"""The descriptors of a process decide how many connections it takes."""

import resource

import pytest

from penstock.server.connections.descriptors import (
    RESERVED,
    connections_for,
    raise_descriptor_limit,
    transfers_for,
)


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [
        (64, 16),
        (144, 16),
        (256, 85),
        (1_024, 597),
        (20_000, 8_000),
        (resource.RLIM_INFINITY, 8_000),
    ],
)
def test_each_connection_may_hold_a_file_and_some_descriptors_are_kept(
    descriptors: int, connections: int
) -> None:
    assert connections_for(descriptors) == connections


@pytest.mark.parametrize("descriptors", [*range(152, 300), 1_024, 4_096, 12_128, 20_000])
def test_every_transfer_has_a_descriptor_for_its_file(descriptors: int) -> None:
    connections = connections_for(descriptors)
    assert connections + transfers_for(connections) + RESERVED <= descriptors


def test_a_setting_lowers_the_number_of_connections_and_cannot_raise_it() -> None:
    assert connections_for(1_024, 5) == 5
    assert connections_for(1_024, 20_000) == 597
    assert connections_for(resource.RLIM_INFINITY, 20_000) == 20_000
    assert (transfers_for(5), transfers_for(1)) == (2, 1)


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

"""Group paths: one text form, one parser, lines from the root down."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import (
    ROOT,
    GroupPath,
    ancestors,
    are_on_one_line,
    covers,
    parent,
    parse_group_path,
)
from penstock.datastore.text import comparison_form

NAMES = st.sampled_from(["usa", "usa2", "us", "northwest", "größe", "a b"])
GROUPS = st.lists(NAMES, max_size=4).map(lambda names: GroupPath("/" + "/".join(names)))


@given(st.text(max_size=40))
@example("ͺ\u0345")
@example("\u3000\u0300")
def test_the_comparison_form_of_a_comparison_form_is_itself(text: str) -> None:
    form = comparison_form(text)
    assert comparison_form(form) == form


@given(st.text(max_size=40).map(lambda text: "/" + text))
@example("/usa／northwest")
@example("/ \u0301")
@example("/℀")
def test_a_parsed_path_parses_to_itself(text: str) -> None:
    try:
        path = parse_group_path(text)
    except BadArgument:
        return
    assert parse_group_path(path) == path
    assert comparison_form(path) == path
    assert ancestors(path)[-1] == path


@given(GROUPS)
def test_ancestors_run_from_the_root_to_the_group_one_level_at_a_time(group: GroupPath) -> None:
    line = ancestors(group)
    assert line[0] == ROOT
    assert line[-1] == group
    assert [parent(g) for g in line] == [None, *line[:-1]]


@given(GROUPS, GROUPS)
def test_a_group_covers_another_exactly_when_it_is_among_its_ancestors(
    one: GroupPath, other: GroupPath
) -> None:
    assert covers(one, other) == (one in ancestors(other))
    assert are_on_one_line(one, other) == are_on_one_line(other, one)


def test_a_name_that_begins_like_another_does_not_cover_it() -> None:
    assert not covers(GroupPath("/usa"), GroupPath("/usa2"))
    assert covers(GroupPath("/usa"), GroupPath("/usa/2"))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", "/"),
        (" / ", "/"),
        ("/USA", "/usa"),
        ("/Usa / Northwest ", "/usa/northwest"),
        ("/ＵＳＡ", "/usa"),
        ("/straße", "/strasse"),
        ("/usa／northwest", "/usa/northwest"),
        ("/" + "n" * 64, "/" + "n" * 64),
        ("/a" * 10, "/a" * 10),
        ("/" + "/".join(["ж" * 63] * 4), "/" + "/".join(["ж" * 63] * 4)),
    ],
)
def test_what_users_take_for_one_group_is_one_path(text: str, path: str) -> None:
    assert parse_group_path(text) == path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "start with"),
        ("usa", "start with"),
        ("usa/northwest", "start with"),
        ("//", "empty name"),
        ("/usa/", "empty name"),
        ("/usa//northwest", "empty name"),
        ("/usa/ /northwest", "empty name"),
        ("/usa\n", "the character U\\+000A"),
        ("/u\x00sa", "the character U\\+0000"),
        ("/u\x85sa", "the character U\\+0085"),
        ("/u\ufffesa", "the character U\\+FFFE"),
        ("/u\ufdd0sa", "the character U\\+FDD0"),
        ("/u\U0010ffffsa", "the character U\\+10FFFF"),
        ("/u\U0001fffesa", "the character U\\+1FFFE"),
        ("/u\ud800sa", "the character U\\+D800"),
        ("/" + "n" * 65, "64 characters"),
        ("/a" * 11, "10 levels"),
        ("/" + "/".join(["ж" * 64] * 4), "512 bytes"),
        ("/" + "́" * 100_000, "512 bytes"),
    ],
)
def test_a_path_that_breaks_a_rule_is_refused_with_the_rule(text: str, reason: str) -> None:
    with pytest.raises(BadArgument, match=reason) as raised:
        parse_group_path(text)
    raised.value.message.encode()  # a lone surrogate is shown escaped, never passed on

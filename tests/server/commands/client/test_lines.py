"""Texts of users stand in the lines of a command, and make none of their own."""

from penstock.server.commands.client.listings import align_columns, print_fields


def test_no_text_makes_a_line_of_its_own() -> None:
    forged = "note\nowner         /\r\ngroups\t/"
    attributes = [{"key": forged, "value": forged}]
    shown = print_fields({"owner": "/usa", "description": forged, "attributes": attributes})
    assert shown.text == (
        "owner        /usa\n"
        "description  note owner / groups /\n"
        "attributes   note owner         / groups /=note owner         / groups /"
    )
    rows = [["name", "  value"], ["a\nb", "1\n2"]]
    assert align_columns(rows) == ["name    value", "a b   1 2"]

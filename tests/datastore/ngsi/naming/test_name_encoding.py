"""Texts in table names: the test vectors of the documented sink, and the strict rule."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.name_encoding import (
    CONCATENATOR,
    Encoding,
    decode,
    decode_components,
    encode,
)
from tests.support.processor_time import yardsticks

VECTORS = {
    "": "",
    "ABC": "ABC",
    "abc": "abc",
    "0123456789": "0123456789",
    "_-.": "_-.",
    "=": "xffff",
    "x": "x",
    "X": "X",
    "xffff": "xxffff",
    "x002f": "xx002f",
    "x002F": "xx002F",
    "X002F": "X002F",
    "xFFFF": "xxFFFF",
    "x123": "x123",
    "x12345": "xx12345",
    "xg123": "xg123",
    "x12g4": "x12g4",
    "xx002f": "xxx002f",
    "xxx002f": "xxxx002f",
    "/": "x002f",
    "x/": "xx002f",
    "/a/b": "x002fax002fb",
    "ax002fb": "axx002fb",
    "a b": "ax0020b",
    "ñ": "x00f1",
    "Á": "x00c1",
    "é": "x00e9",
    "e\u0301": "ex0301",
    "€": "x20ac",
    "中": "x4e2d",
    "😀": "xd83dxde00",
    "\uffff": "xffff",
    "\0": "x0000",
    "\t\n": "x0009x000a",
    "urn:ngsi-ld:Car:1": "urnx003angsi-ldx003aCarx003a1",
    "a=b": "axffffb",
    "x=": "xxffff",
    "%20": "x002520",
    "0x1234": "0xx1234",
    "0xabcdef": "0xxabcdef",
    "\"'": "x0022x0027",
    "ßİａ١": "x00dfx0130xff41x0661",
    "!\"#$%&'()*+,/": "x0021x0022x0023x0024x0025x0026x0027x0028x0029x002ax002bx002cx002f",
    ":;<>?@": "x003ax003bx003cx003ex003fx0040",
}
STRICT = {
    "box": "box0078",
    "x/": "x0078x002f",
    "xx/": "x0078x0078x002f",
    "car1": "car1",
    "x002f": "xx002f",
    "a=b": "ax003db",
    "=": "x003d",
    "urn:ngsi-ld:Car:1": "urnx003angsi-ldx003aCarx003a1",
    "😀": "xd83dxde00",
}

texts = st.text(max_size=12).filter(lambda text: "\uffff" not in text)
awkward = st.text(alphabet="x0f/=X_", max_size=8)


@pytest.mark.parametrize(("text", "encoded"), VECTORS.items())
def test_a_text_is_encoded_as_the_sink_encodes_it(text: str, encoded: str) -> None:
    assert encode(text) == encoded


@pytest.mark.parametrize(("text", "encoded"), STRICT.items())
def test_a_text_is_encoded_strictly(text: str, encoded: str) -> None:
    assert encode(text, Encoding.STRICT) == encoded
    assert decode(encoded, Encoding.STRICT) == text


@pytest.mark.parametrize(
    "pair", [("x/", "x002f"), ("x=", "xffff"), ("\uffff", "="), ("x:", "x003a")]
)
def test_the_documented_rule_gives_two_texts_one_form(pair: tuple[str, str]) -> None:
    one, other = pair
    assert encode(one) == encode(other)
    if "\uffff" not in pair:
        assert encode(one, Encoding.STRICT) != encode(other, Encoding.STRICT)


@given(st.one_of(texts, awkward))
def test_a_strictly_encoded_text_is_read_back(text: str) -> None:
    assert decode(encode(text, Encoding.STRICT), Encoding.STRICT) == text


def test_no_two_short_texts_have_one_strict_form() -> None:
    texts = ["".join(letters) for size in range(6) for letters in product("x0f/=X", repeat=size)]
    assert len({encode(text, Encoding.STRICT) for text in texts}) == len(texts) == 9331


@given(st.lists(awkward, min_size=1, max_size=4))
def test_strict_components_are_told_apart_again(parts: list[str]) -> None:
    name = CONCATENATOR.join(encode(part, Encoding.STRICT) for part in parts)
    assert decode_components(name, Encoding.STRICT) == tuple(parts)


@given(st.one_of(texts, awkward), st.sampled_from(Encoding))
def test_an_encoded_text_fits_a_table_name(text: str, encoding: Encoding) -> None:
    assert set(encode(text, encoding)) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
    )


def test_a_documented_name_falls_into_its_components() -> None:
    name = "vehiclesxffffx002f4wheelsxffffcar1xffffcar"
    assert decode_components(name, Encoding.CYGNUS) == ("vehicles", "/4wheels", "car1", "car")


def test_the_character_that_joins_is_refused_strictly() -> None:
    with pytest.raises(BadArgument, match=r"U\+FFFF"):
        encode("a\uffff", Encoding.STRICT)


@pytest.mark.parametrize("text", ["a b", "/", "ax", "xx", "é"])
def test_what_no_text_is_strictly_encoded_as_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="No text is encoded"):
        decode(text, Encoding.STRICT)


@pytest.mark.parametrize("name", ["xd83d", "axde00b", "xd83dxd83dxde00", "xffffxd800xzzzz"])
@pytest.mark.parametrize("encoding", Encoding)
def test_half_a_surrogate_pair_is_no_text(name: str, encoding: Encoding) -> None:
    with pytest.raises(BadArgument, match="No text is encoded"):
        decode_components(name, encoding)


@pytest.mark.parametrize("encoding", Encoding)
@pytest.mark.parametrize("end", ["a", "1234", "/", ""])
def test_a_long_run_of_one_letter_takes_linear_time(encoding: Encoding, end: str) -> None:
    text = "x" * 10_000 + end
    assert yardsticks(lambda: encode(text, encoding), 2) < 2

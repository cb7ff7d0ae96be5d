from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from functools import reduce
from operator import add, ne

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta.quantity import MAX_VALUE, ZERO, Format, Quantity, QuantityError, canonical_quantity

parse = Quantity.parse

# Amounts whose canonical text has a suffix: past exa, Kubernetes prints none and the text means another amount.
quantities = st.one_of(
    st.builds(Quantity, st.integers(-(10**27), 10**27), st.sampled_from(list(Format))),
    st.builds(lambda n, suffix: parse(f"{n}{suffix}"), st.integers(-9999, 9999), st.sampled_from(["m", "", "k", "Mi"])),
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("1000m", "1"),
        ("1.5", "1500m"),
        ("1.5Gi", "1536Mi"),
        ("1024", "1024"),
        ("1000000", "1M"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("2048Ki", "2Mi"),
        ("12345678901234567890", "12345678901234567890"),
        ("731e4", "7310e3"),
        ("1e0", "1e0"),
        ("-500m", "-500m"),
    ],
)
def test_a_quantity_is_printed_in_the_canonical_form_of_its_own_notation(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@pytest.mark.parametrize("text", ["+5", "00012", "1.", "91.955k", "65.25E-1", "+653Ki"])
def test_a_nearly_canonical_text_is_kept_until_it_is_computed_with(text: str) -> None:
    assert str(parse(text)) == text
    assert str(parse(text) + ZERO) != text


@pytest.mark.parametrize("text", [".", "+", "-", "m", "Ti", "0000", "-0", ".0", "+.k"])
def test_a_text_without_digits_is_zero_as_in_kubernetes(text: str) -> None:
    assert parse(text) == ZERO
    assert str(parse(text)) == "0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must match"),
        (" 1", "must match"),
        ("1 ", "must match"),
        ("1\n", "must match"),
        ("--1", "suffix"),
        ("1_000", "must match"),
        ("1,5", "must match"),
        ("1.2.3", "must match"),
        ("\uff11", "must match"),
        ("1K", "suffix"),
        ("1mi", "suffix"),
        ("1kk", "suffix"),
        ("1ee3", "suffix"),
        ("1e", "suffix"),
        ("5-5", "suffix"),
        ("Ei", "numeric"),
        ("e-10", "numeric"),
        ("1e99999", "digits"),
        ("1e-99999999999", "digits"),
        ("9" * 5000, "digits"),
    ],
)
def test_an_invalid_quantity_is_an_error_that_quotes_and_explains(text: str, reason: str) -> None:
    with pytest.raises(QuantityError, match=reason) as error:
        parse(text)
    assert repr(text) in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("number", [None, True, [1], {}])
def test_what_is_neither_text_nor_number_is_an_error(number: object) -> None:
    with pytest.raises((QuantityError, TypeError)):
        parse(number)  # type: ignore[arg-type]  # the mistake is the point


def test_a_text_is_parsed_and_not_passed_to_the_class() -> None:
    with pytest.raises(TypeError, match=r"Quantity\('1Gi'\): want Quantity\.parse\('1Gi'\)"):
        Quantity("1Gi")  # type: ignore[arg-type]  # the mistake is the point


def test_numbers_are_read_as_yaml_gives_them() -> None:
    assert str(parse(2)) == "2"
    assert str(parse(0.5)) == "500m"
    assert canonical_quantity(" 1.5Gi ") == "1536Mi"


def test_what_is_finer_than_a_nano_is_rounded_away_from_zero() -> None:
    assert str(parse("0.1n")) == "1n"
    assert str(parse("-0.1n")) == "-1n"
    assert str(parse("1e-500")) == "1e-9"


def test_only_binary_amounts_are_capped() -> None:
    assert parse("16Ei").value() == parse("-16Ei").value() * -1 == MAX_VALUE
    assert parse("100E").nano == 100 * 10**27


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("9E", 9 * 10**18, 0),
        ("10E", 0, 0),
        ("1000E", 0, 0),
        ("-1000E", 0, 0),
        ("9223372036854775807", MAX_VALUE, -1000),
        ("9223372036854775808", -(2**63), 0),
        ("-9223372036854775809", 2**63 - 1, -1000),
        ("8Ei", MAX_VALUE, -1000),
    ],
)
def test_a_value_beyond_64_bits_is_what_kubernetes_makes_of_it(text: str, value: int, milli: int) -> None:
    assert (parse(text).value(), parse(text).milli_value()) == (value, milli)


def test_an_amount_of_more_than_the_largest_suffix_has_none() -> None:
    assert (str(parse("1000E")), str(parse("-2000000E")), str(parse("1500E"))) == ("1", "-2", "1500E")


def test_rounding_up_is_exact_at_any_size() -> None:
    assert str(parse("1000E").rounded_up(0) - parse("999E")) == "1E"
    assert str(parse("100000000000000000000001m").rounded_up(0)) == "100000000000000000001"
    assert str(parse("-1500m").rounded_up(0)) == "-2"
    assert str(parse("1500u").rounded_up(-3)) == "2m"
    whole = parse("5Gi")
    assert whole.rounded_up(0) is whole


def test_a_binary_amount_below_one_becomes_a_decimal_one() -> None:
    assert parse("0.0001Ki").format is Format.DECIMAL_SI
    assert parse("1Ki").format is Format.BINARY_SI


def test_whole_and_milli_values_are_rounded_away_from_zero() -> None:
    assert parse("1001m").value() == 2
    assert parse("-1001m").value() == -2
    assert parse("1u").milli_value() == 1
    assert parse("1Ki").scaled_value(3) == 2


def test_a_result_has_the_notation_of_the_first_that_is_not_zero() -> None:
    assert str(parse("1Ki") + parse("1024")) == "2Ki"
    assert str(parse("1024") + parse("1Ki")) == "2048"
    assert str(ZERO + parse("1Ki")) == "1Ki"
    assert str(ZERO - parse("1Ki")) == "-1Ki"
    assert (ZERO + parse("1e3")).format is Format.DECIMAL_EXPONENT


def test_quantities_are_equal_by_amount_and_hash_so() -> None:
    assert parse("1") == parse("1000m")
    assert hash(parse("1")) == hash(parse("1000m"))
    assert parse("1") != parse("2")
    assert not ne(parse("1"), parse("1000m"))
    assert parse("1") != 1
    assert parse("900m") < parse("1") <= parse("1000m") < parse("1Ki") >= parse("1024") > parse("-1")


def test_arithmetic_with_other_things_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        parse("1") + 1  # type: ignore[operator]  # the mistake is the point
    with pytest.raises(TypeError):
        parse("1") < 1  # type: ignore[operator]  # noqa: B015 - as above


def test_a_quantity_cannot_be_changed_and_is_its_own_copy() -> None:
    quantity = parse("1Gi")

    with pytest.raises(AttributeError):
        quantity.nano = 3  # type: ignore[misc]  # the mistake is the point
    assert copy.copy(quantity) is copy.deepcopy(quantity) is quantity
    assert pickle.loads(pickle.dumps(quantity)) == quantity
    assert repr(quantity) == "Quantity.parse('1Gi')"


def test_it_is_made_from_numbers_too() -> None:
    assert str(Quantity.of(2048, Format.BINARY_SI)) == "2Ki"
    assert str(Quantity.of_milli(1500)) == "1500m"
    assert float(Quantity.of_milli(1500)) == 1.5
    assert bool(Quantity.of(1))
    assert not ZERO


@given(quantities, quantities)
def test_sums_and_differences_are_exact(a: Quantity, b: Quantity) -> None:
    assert (a + b).nano == a.nano + b.nano
    assert a + b == b + a
    assert a + b - b == a
    assert a - b == -(b - a) == a + -b
    assert a.cmp(b) == (a - b).sign


@given(quantities, st.integers(-1000, 1000))
def test_a_multiple_is_that_many_added(quantity: Quantity, factor: int) -> None:
    assert (quantity * factor).nano == (factor * quantity).nano == quantity.nano * factor
    assert abs(quantity).sign == abs(quantity.sign)


@given(quantities)
def test_the_canonical_text_means_the_same_amount_and_stays(quantity: Quantity) -> None:
    again = parse(str(quantity))

    if quantity.format is not Format.BINARY_SI or abs(quantity.nano) <= MAX_VALUE * 10**9:
        assert again == quantity
    assert str(parse(str(again))) == str(again)


@given(quantities)
def test_rounding_loses_less_than_one(quantity: Quantity) -> None:
    exact = Fraction(quantity.nano, 10**9)

    for scale in (0, -3):
        rounded = Fraction(quantity.rounded_up(scale).nano, 10**9)
        assert 0 <= (rounded - exact) * (quantity.sign or 1) < Fraction(10) ** scale
        told = rounded / Fraction(10) ** scale
        if abs(told) <= MAX_VALUE:
            assert quantity.scaled_value(scale) == told


@given(st.lists(quantities))
def test_a_sum_at_once_is_the_sum_one_by_one(many: list[Quantity]) -> None:
    at_once, one_by_one = Quantity.sum(many), reduce(add, many, ZERO)

    assert at_once == one_by_one
    assert str(at_once) == str(one_by_one)


@given(st.text("0123456789.+-eEinumkKMGTP \n", max_size=12))
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    try:
        quantity = parse(text)
    except QuantityError:
        return
    assert parse(str(quantity + ZERO)) is not None

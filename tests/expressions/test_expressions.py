from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("cel_expr_python", reason="expressions need the extra `cel`")

from kinformer.expressions import CompileError, Environment, EvaluationError, Program, Types, to_cel
from kinformer.expressions.access import authorizer, resource_check

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "ratio": {"type": "number"},
        "max-size": {"type": "integer"},
        "since": {"type": "string", "format": "date-time"},
        "every": {"type": "string", "format": "duration"},
        "port": {"x-kubernetes-int-or-string": True},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "tags": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        "parts": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"weight": {"type": "integer"}}},
        },
    },
}
OBJECT: dict[str, Any] = {
    "metadata": {"name": "one", "labels": {"hidden": "x"}},
    "size": 3,
    "ratio": 1,
    "max-size": 5,
    "since": "2026-01-01T00:00:00Z",
    "every": "1h5m",
    "port": "5%",
    "rows": [[1, 2]],
    "tags": {"a": ["b"]},
    "parts": {"p": {"weight": 2}},
    "unknown": 1,
}


class Asked:
    """Allows whatever is a get, and remembers what it was asked."""

    def __init__(self) -> None:
        self.checks: list[tuple[Mapping[str, str], str]] = []

    def allows(self, check: Mapping[str, str], verb: str) -> bool:
        self.checks.append((dict(check), verb))
        return verb == "get"


@pytest.fixture(scope="module")
def environment() -> Environment:
    types = Types()
    variables = {
        "self": types.of_schema(SCHEMA, is_root=True),
        "any": None,
        "authorizer": types.opaque("Authorizer"),
        "authorizer.requestResource": types.opaque("ResourceCheck"),
    }
    return Environment(types, variables)


def evaluate(program: Program, access: Asked | None = None) -> Any:
    values = {
        "self": to_cel(OBJECT, SCHEMA, is_root=True),
        "any": {"a": 1, "text": "abc", "none": None},
        "authorizer": authorizer(),
        "authorizer.requestResource": resource_check(group="apps", resource="deployments", name="d"),
    }
    return program.evaluate(values, access)


@pytest.mark.parametrize(
    "text",
    [
        "self.size < 4 && self.ratio == 1.0 && self.size < 3.5",
        "self.max__dash__size == 5",
        "self.since < timestamp('2026-01-02T00:00:00Z') && self.every > duration('1h')",
        "type(self.port) == string && self.port.endsWith('%')",
        "self.rows[0][1] == 2 && self.tags['a'][0] == 'b' && self.parts.p.weight == 2",
        "self.metadata.name == 'one'",
        "!has(any.b) && any.?b.orValue(5) == 5 && any.none == null",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 2].sum() == 3 && ![2, 1].isSorted() && ['b', 'a'].min() == 'a'",
        "[1, 2, 1].lastIndexOf(1) == 2 && [1, 2].indexOf(3) == -1 && 'abc'.indexOf('b') == 1",
        "['a', 'b'].all(i, s, i < 2 && s != 'c')",
        "'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'a1b22'.findAll('[0-9]+', 1) == ['1'] && 'ab'.find('b') == 'b'",
        "'%s is %d'.format(['x', 1]) == 'x is 1' && 'a-b'.split('-').join('/') == 'a/b'",
        "sets.contains([1, 2], [1])",
        "quantity('1500m').add(quantity('500m')) == quantity('2') && quantity('1').add(1) == quantity('2')",
        "quantity('1Gi').isGreaterThan(quantity('1M')) && quantity('1').compareTo(quantity('2')) == -1",
        "quantity('2k').asInteger() == 2000 && !quantity('1m').isInteger() && quantity('-1').sign() == -1",
        "isQuantity('1Ki') && !isQuantity('1Kx')",
        "url('https://a.example:80/p?x=1').getHost() == 'a.example:80' && url('/p').getScheme() == ''",
        "url('https://a.example/p?x=1&x=2').getQuery() == {'x': ['1', '2']} && !isURL('not a url')",
        "ip('10.0.0.1').family() == 4 && ip('::1').isLoopback() && string(ip('::1')) == '::1' && !isIP('10.0.0')",
        "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')",
        "cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "cidr('10.0.0.5/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.5/8').ip() == ip('10.0.0.5')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "semver('v1.2', true).minor() == 2 && isSemver('1.2.3') && !isSemver('1.2')",
        "!format.dns1123Label().validate('good').hasValue() && format.dns1123Label().validate('Bad').hasValue()",
        "format.named('uuid').hasValue() && !format.named('none').hasValue()",
        "string(1) == '1' && int('3') == 3",
    ],
)
def test_what_kubernetes_says_in_expressions_is_understood(environment: Environment, text: str) -> None:
    assert evaluate(environment.compile(text)) is True


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("self.nope", "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^"),
        ("self.unknown", "ERROR: <input>:1:5: undefined field 'unknown'\n | self.unknown\n | ....^"),
        ("self.metadata.labels", "ERROR: <input>:1:14: undefined field 'labels'"),
        ("self.size.x", "ERROR: <input>:1:10: type 'int' does not support field selection"),
        ("self.size == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("missing", "ERROR: <input>:1:1: undeclared reference to 'missing' (in container '')\n | missing\n | ^"),
        (
            "a + missing.b.c",
            "ERROR: <input>:1:5: undeclared reference to 'missing' (in container '')\n | a + missing.b.c\n | ....^",
        ),
        ("self.size <", "ERROR: <input>:1:12: Syntax error: mismatched input '<EOF>'"),
        ("cel.bind(x, 1, x)", "undeclared reference to 'cel'"),
        ("quantity('1') + 1", "found no matching overload for '_+_'"),
        # As cel-go's formatFunctionDeclType(): the target of a call comes first.
        ("dyn('a').startsWith(1)", "found no matching overload for 'startsWith' applied to 'dyn.(int)'"),
        ("[[1], [2]].join('a')", "found no matching overload for 'join' applied to 'list(list(int)).(string)'"),
        ("{'a': 1}.startsWith('a')", "no matching overload for 'startsWith' applied to 'map(string, int).(string)'"),
        ("1.size()", "found no matching overload for 'size' applied to 'int.()'"),
        ("size(1)", "found no matching overload for 'size' applied to '(int)'"),
        ("ip('::1') == 'a'", "found no matching overload for '_==_' applied to '(net.IP, string)'"),
        ("cidr('::1/64').x", "unexpected failed resolution of 'net.CIDR'"),
        # As cel-go's resolveOverload(): an operand that is no bool is named at its own place.
        (
            "[self.size].all(x, 1 < x && x)",
            "ERROR: <input>:1:29: expected type 'bool' but found 'int'\n | [self.size].all(x, 1 < x && x)\n | "
            + 28 * "."
            + "^",
        ),
        (
            "1 || 2 &&\n {'a': [true]}",
            "ERROR: <input>:1:1: expected type 'bool' but found 'int'\n | 1 || 2 &&\n | ^\nE",
        ),
        ("1 || 2 &&\n {'a': [true]}", "1:6: expected type 'bool' but found 'int'\n | 1 || 2 &&\n | .....^\nERROR"),
        (
            "1 || 2 &&\n {'a': [true]}",
            "2:2: expected type 'bool' but found 'map(string, list(bool))'\n |  {'a': [true]}\n | .^",
        ),
    ],
)
def test_what_does_not_compile_is_told_in_the_words_of_cel(environment: Environment, text: str, complaint: str) -> None:
    with pytest.raises(CompileError) as error:
        environment.compile(text)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("any.missing == 1", "no such key: missing"),
        ("1 / (any.a - 1) == 1", "division by zero"),
        ("[1][any.a] == 1", "index out of bounds: 1"),
        ("any.text + 1 == 2", "no such overload"),
        ("quantity(any.text) == quantity('1')", "quantities must match the regular expression"),
        ("url(any.text).getHost() == ''", "URL parse error during conversion from string: parse "),
        ("ip('10.0').family() == 4", 'IP Address "10.0" parse error during conversion from string'),
    ],
)
def test_what_has_no_value_is_told_in_the_words_of_cel(environment: Environment, text: str, complaint: str) -> None:
    program = environment.compile(text)
    with pytest.raises(EvaluationError) as error:
        evaluate(program)
    assert complaint in str(error.value)


def test_types_are_told_as_kubernetes_writes_them(environment: Environment) -> None:
    types = {text: environment.compile(text).type for text in ("1", "'a'", "any", "[1]", "{'a': 1.5}", "self.since")}
    assert types == {
        "1": "int",
        "'a'": "string",
        "any": "dyn",
        "[1]": "list(int)",
        "{'a': 1.5}": "map(string, double)",
        "self.since": "timestamp",
    }


def test_the_authorizer_is_asked_what_the_expression_says(environment: Environment) -> None:
    asked = Asked()
    text = "authorizer.group('').resource('pods').subresource('status').namespace('n').name('p').check('get').allowed()"
    assert evaluate(environment.compile(text), asked) is True
    assert evaluate(environment.compile("authorizer.requestResource.check('delete').allowed()"), asked) is False
    account = "authorizer.serviceAccount('n', 'a').path('/healthz').check('get').allowed()"
    assert evaluate(environment.compile(account), asked) is True
    assert asked.checks == [
        ({"group": "", "resource": "pods", "subresource": "status", "namespace": "n", "name": "p"}, "get"),
        ({"group": "apps", "resource": "deployments", "name": "d"}, "delete"),
        ({"user": "system:serviceaccount:n:a", "path": "/healthz"}, "get"),
    ]


def test_nobody_may_do_anything_where_nobody_is_asked(environment: Environment) -> None:
    assert evaluate(environment.compile("authorizer.requestResource.check('get').allowed()")) is False

"""Hooks of schemathesis for this schema: values of its scalars, and answers that are failures.

Schemathesis loads them in its own environment.
"""

import schemathesis  # type: ignore[import-not-found]
from hypothesis import strategies as st
from hypothesis_graphql import nodes  # type: ignore[import-not-found]

GROUPS = ("/", "/usa", "/usa/northwest", "/eu", "usa", "//", "/" + "a" * 70)
TIMES = ("2027-01-01T00:00:00Z", "2022-08-10T23:55:20.322+02:00", "yesterday", "")
NUMBERS = ("12.50", "0", "-1e10", "1e400", "NaN")

schemathesis.graphql.scalar("GroupPath", st.sampled_from(GROUPS).map(nodes.String))
schemathesis.graphql.scalar("DateTime", st.sampled_from(TIMES).map(nodes.String))
schemathesis.graphql.scalar("Decimal", st.sampled_from(NUMBERS).map(nodes.String))
schemathesis.graphql.scalar("Long", st.integers().map(str).map(nodes.Int))
schemathesis.graphql.scalar("Row", st.just(nodes.Object([])))
schemathesis.graphql.scalar(
    "JSON",
    st.one_of(
        st.text().map(nodes.String),
        st.integers().map(str).map(nodes.Int),
        st.booleans().map(nodes.Boolean),
    ),
)


@schemathesis.check
def nothing_unexpected(context, response, case):  # type: ignore[no-untyped-def]
    """Fail for a 5xx, and for `INTERNAL_SERVER_ERROR` and `TIMEOUT` with any status.

    The built-in check of schemathesis treats every error with a path as a server error, such as
    NOT_FOUND.
    """
    assert response.status_code < 500, response.text
    assert "INTERNAL_SERVER_ERROR" not in response.text, response.text
    assert '"TIMEOUT"' not in response.text, response.text

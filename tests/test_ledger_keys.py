"""Ledger keys are the SHA-256 of canonical JSON, whatever the judge's name and parameters hold."""

from __future__ import annotations

import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pytest_sciagent.digest import sha256_bytes
from pytest_sciagent.judging.clients import Prompt
from pytest_sciagent.judging.requests import KEY_VERSION, Request
from pytest_sciagent.models import JudgeIdentity

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
DIGEST = st.text("0123456789abcdef", min_size=64, max_size=64)


def no_prompt() -> Prompt:
    raise AssertionError("a key needs no prompt")


@given(TEXT, st.dictionaries(TEXT, PLAIN, max_size=3), DIGEST, DIGEST, st.integers(1, 99))
def test_a_key_is_the_digest_of_canonical_json(
    model: str, parameters: dict[str, object], subject: str, evidence: str, draw: int
) -> None:
    judge = JudgeIdentity.model_validate({"kind": "openai", "model": model, "parameters": parameters})
    request = Request("criterion", "c", "finding_1", subject, evidence, no_prompt, draw)
    asked = {
        "version": KEY_VERSION,
        "kind": "criterion",
        "subject": subject,
        "template": request.template_digest,
        "judge": judge.as_json(),
        "evidence": evidence,
        "draw": draw,
    }
    assert request.key(judge) == sha256_bytes(rfc8785.dumps(asked))

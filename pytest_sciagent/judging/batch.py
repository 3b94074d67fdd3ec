"""Batches: open questions are handed to a provider's batch API, and a later session collects the answers.

A submitted batch is one file, `<folder>/<batch id>.json`: what was asked, of whom, where. As long as it is there, its
questions count as in flight and are not asked again; once its answers are recorded, `forget_batch` removes it. What a
batch leaves open (expired, cancelled or failed lines, lines that never came) is simply open again.

A session may be killed at any point:

* Before a batch is made, nothing is lost: at most a file of questions lies unused at the provider.
* While it is made: a file of status `submitting` was written before. Its questions stay in flight until the provider
  was asked whether it has that batch. OpenAI is asked for the mark that the batch was given; Anthropic keeps no marks,
  so every batch of that size and time is looked at, and custom ids tell whose the answers are. If it is not found, the
  outcome is `running` for a quarter of an hour (another session may be at it), then `failed`. So only a batch that is
  there and can't be found (a server that drops marks, or more than a hundred batches since) is asked for again: the
  cost is this one batch, paid for twice.
* Between the answers' arrival and `forget_batch`: they are collected again, free of charge.

Two sessions that submit at the very same time may both ask the same; one after the other may not.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, Field

from ..documents import load_json
from ..errors import SciagentError
from ..ledger.store import write_atomically
from ..models import JudgeIdentity, Model
from ..models.base import NonEmpty
from ..text import safe_name
from . import batch_api
from .batch_api import BATCH_APIS, BatchApi, Look, Refused, Status, json_bytes
from .clients import Prompt, Reply, make_client
from .requests import Asked
from .sdk_client import SdkClient

CUSTOM_ID_CHARS = 60
"""Providers take 64; a ledger key has 64, and a prefix is as unique."""
TIMEOUT_S = 300.0


class BatchLine(Model):
    """The questions of one line of a batch, all about one `run` (its label). shared: they are answered together."""

    run: str
    questions: tuple[Asked, ...] = Field(min_length=1)
    shared: bool = False


class BatchState(Model):
    """A batch on its way, as its file tells.

    batch_id: the provider's id; of status `submitting`, our own mark.
    keys: the ids of the lines, each a ledger key or another digest.
    lines: what is needed to take the answers in, by id.
    base_url: where it was submitted, and so where it is to be collected.
    """

    schema_: Literal["sciagent-batch/1"] = Field("sciagent-batch/1", alias="schema")
    batch_id: NonEmpty
    status: Literal["submitting", "submitted"] = "submitted"
    judge: JudgeIdentity
    keys: tuple[str, ...]
    submitted_at: AwareDatetime
    base_url: str
    lines: dict[str, BatchLine] = {}

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """Run label and ledger key of all questions: runs that hold the same ask the same, each for itself."""
        return tuple((line.run, asked.key) for line in self.lines.values() for asked in line.questions)


@dataclass(frozen=True)
class BatchOutcome:
    """How a batch stands.

    status: `running`: come back later. `ended`: `replies` is all there will ever be. `failed`: nothing came of it.
    replies: by ledger key. A question without a reply, or whose reply has a failure status, is open again. A reply may
        be `fatal` as a live one: no such question can succeed.
    detail: the provider's words, on one line.
    """

    status: Status
    replies: dict[str, Reply] = field(default_factory=dict)
    detail: str = ""


def submit_batch(
    prompts: Mapping[str, Prompt],
    identity: JudgeIdentity,
    *,
    base_url: str | None,
    api_key: str | None,
    folder: Path,
    lines: Mapping[str, BatchLine] | None = None,
) -> list[BatchState]:
    """Submit the `prompts`, by ids of 64 hexadecimal digits, in as few batches as the provider's limits allow; don't
    wait for answers.

    `lines` tell what each asks. Ids that are in flight already are left out. Batches that were made before an error are
    on record.

    Raises:
        SciagentError: bad settings or key (see `make_client`), the provider's refusal in its own words, a prompt that
            can't be sent, or a folder that can't be written to.
    """
    in_flight = keys_in_flight(folder, identity)
    keys = [key for key in prompts if key not in in_flight]
    if not keys:
        return []
    client = make_client(identity, base_url=base_url, api_key=api_key, timeout_s=TIMEOUT_S)
    return asyncio.run(_submit(((key, prompts[key]) for key in keys), lines or {}, client, folder))


def open_batches(folder: Path) -> list[BatchState]:
    """The batches that were submitted and not yet forgotten, the oldest first.

    Raises:
        SciagentError: a file that can't be read.
    """
    found = [load_json(path, BatchState) for path in folder.glob("*.json")]
    return sorted(found, key=lambda state: (state.submitted_at, state.batch_id))


def keys_in_flight(folder: Path, identity: JudgeIdentity) -> set[str]:
    """The ids of the lines that `identity` is being asked by open batches.

    Raises:
        SciagentError: as `open_batches`.
    """
    return {key for state in open_batches(folder) if state.judge == identity for key in state.keys}


def collect_batch(state: BatchState, *, api_key: str | None) -> BatchOutcome:
    """Ask the provider how the batch is, and read its answers if it has ended.

    Raises:
        SciagentError: bad key, the provider's refusal in its own words, or no connection. The batch stays open: to give
            up one that is gone for good, delete its file.
    """
    client = make_client(state.judge, base_url=state.base_url, api_key=api_key, timeout_s=TIMEOUT_S)
    return asyncio.run(_collect(state, client))


def forget_batch(folder: Path, state: BatchState) -> None:
    """Remove the file of a batch, once its answers are recorded or it is known to have failed.

    Raises:
        SciagentError: it can't be removed.
    """
    path = _path(folder, state)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SciagentError(f"can't be removed: {error.strerror}", path=path) from None


def can_batch(identity: JudgeIdentity) -> bool:
    """Whether the provider of this judge has a batch API."""
    return identity.kind in BATCH_APIS


def address_of(identity: JudgeIdentity, base_url: str | None) -> str:
    """Where a batch for this judge would be submitted, as its file tells it.

    Raises:
        SciagentError: as `make_client`.
    """
    return str(make_client(identity, base_url=base_url, api_key=None, timeout_s=TIMEOUT_S).api.base_url)


def _path(folder: Path, state: BatchState) -> Path:
    return folder / f"{safe_name(state.batch_id)}.json"


def _write(folder: Path, state: BatchState) -> None:
    write_atomically(_path(folder, state), state.model_dump_json(by_alias=True, indent=1) + "\n")


async def _submit(
    prompts: Iterable[tuple[str, Prompt]], lines: Mapping[str, BatchLine], client: SdkClient, folder: Path
) -> list[BatchState]:
    try:
        api = BATCH_APIS[client.identity.kind](client)
        return [await _submit_part(api, part, lines, folder) for part in _parts(api, prompts)]
    finally:
        await client.close()


def _parts(api: BatchApi, prompts: Iterable[tuple[str, Prompt]]) -> Iterator[dict[str, dict[str, Any]]]:
    """The requests by key, cut into what one batch may hold. One that is too large by itself goes alone."""
    part: dict[str, dict[str, Any]] = {}
    room = api.max_bytes
    for key, prompt in prompts:
        request = api.request(key[:CUSTOM_ID_CHARS], prompt)
        try:
            size = len(json_bytes(request)) + 1
        except UnicodeEncodeError:
            raise SciagentError(f"the prompt of {key} holds text that is not Unicode (a lone surrogate)") from None
        if part and (len(part) == api.max_requests or size > room):
            yield part
            part, room = {}, api.max_bytes
        part[key] = request
        room -= size
    yield part


async def _submit_part(
    api: BatchApi, part: dict[str, dict[str, Any]], lines: Mapping[str, BatchLine], folder: Path
) -> BatchState:
    prepared = await api.prepare(list(part.values()))
    mark = BatchState(
        batch_id=f"submitting-{uuid.uuid4().hex}",
        status="submitting",
        judge=api.client.identity,
        keys=tuple(part),
        submitted_at=datetime.now(UTC).replace(microsecond=0),
        base_url=str(api.api.base_url),
        lines={key: lines[key] for key in part if key in lines},
    )
    _write(folder, mark)
    try:
        batch_id = await api.create(prepared, mark.batch_id)
    except Refused:
        forget_batch(folder, mark)
        raise
    state = mark.model_copy(update={"batch_id": batch_id, "status": "submitted"})
    _write(folder, state)
    forget_batch(folder, mark)
    return state


async def _collect(state: BatchState, client: SdkClient) -> BatchOutcome:
    try:
        api = BATCH_APIS[client.identity.kind](client)
        if state.status == "submitting":
            return await _collect_lost(state, api)
        return _outcome(state, await api.look(state.batch_id))
    finally:
        await client.close()


async def _collect_lost(state: BatchState, api: BatchApi) -> BatchOutcome:
    """The outcome of a submission whose end nobody saw: of the batch that the provider has of it, if any."""
    ids = await api.candidates(state.batch_id, len(state.keys), state.submitted_at)
    outcomes = [_outcome(state, await api.look(batch_id)) for batch_id in ids]
    for outcome in outcomes:
        if outcome.replies:
            return outcome
    for outcome in outcomes:
        if outcome.status == "running":
            return outcome
    age = datetime.now(UTC) - state.submitted_at
    if age.total_seconds() < batch_api.DEADLINE_S:
        return BatchOutcome("running", detail="perhaps it is being submitted just now")
    return BatchOutcome("failed", detail="its submission was cut short, and the provider has no answers to it")


def _outcome(state: BatchState, look: Look) -> BatchOutcome:
    keys = {key[:CUSTOM_ID_CHARS]: key for key in state.keys}
    replies = {keys[custom_id]: reply for custom_id, reply in look.replies.items() if custom_id in keys}
    return BatchOutcome(look.status, replies, look.detail)

"""The memory probe: a model is told a task's objective and guide, no data, and asked what will be found.

Code compares: numbers with the reference quantities, words with the source study. A number can be right by chance, so
all numbers of an answer are kept, and nothing is made of the result but a fact that stands beside novelty.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from ..errors import SciagentError
from ..judging.clients import Client, Prompt, Reply
from ..models.probe import Probe, ProbeAnswer, Recalled, Said
from ..tasks import Task
from ..tasks.leaks import Hidden, Lines
from ..text import clean
from .agent import now

MAX_TEXT = 20_000
MAX_NUMBERS = 100
_SYSTEM = (
    "You are asked what you already know. You are given the description of a data set and an objective, but no data. "
    "Do not refuse for the lack of data: say what you expect from memory, and leave empty what you do not know."
)
_ASK = """Objective:
{objective}

Description of the data:
{guide}

Columns and units:
{columns}

1. Which study or data set do these data come from? Name it if you recognise it.
2. Which two to five findings will an analysis of them give? State direction and size.
3. List every number you expect, with what it is a number of and its unit."""
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "source": {"type": "string"},
        "findings": {"type": "array", "items": {"type": "string"}},
        "numbers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"what": {"type": "string"}, "value": {"type": "number"}, "unit": {"type": "string"}},
                "required": ["what", "value", "unit"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["source", "findings", "numbers"],
    "additionalProperties": False,
}


def probe(task: Task, client: Client, draws: int) -> Probe:
    """Ask `draws` times, and compare each answer with the hidden half of `task`.

    Raises:
        SciagentError: the task has no hidden half to compare with; the model can't be asked at all.
    """
    if not task.cards or task.source is None:
        raise SciagentError("has no hidden reference or source to compare with", path=task.path)
    columns = {name: {c: v.unit for c, v in table.items()} for name, table in task.manifest.variables.items()}
    text = _ASK.format(objective=task.objective, guide=task.data_guide, columns=json.dumps(columns, ensure_ascii=False))
    replies = asyncio.run(_ask(client, Prompt(_SYSTEM, "", text, "memory", _SCHEMA), draws))
    fatal = next((reply for reply in replies if reply.fatal), None)
    if fatal is not None:
        raise SciagentError(f"the model {client.identity.label} can't be asked: {fatal.detail}")
    return Probe(
        task_id=task.id,
        model=client.identity,
        made_at=now(),
        quantities=sum(len(card.quantities) for card in task.cards),
        answers=tuple(_graded(task, reply) for reply in replies),
    )


async def _ask(client: Client, prompt: Prompt, draws: int) -> list[Reply]:
    try:
        return [await client.ask(prompt) for _ in range(draws)]
    finally:
        await client.close()


def _graded(task: Task, reply: Reply) -> ProbeAnswer:
    if reply.text is None:
        return ProbeAnswer(status=reply.status)
    numbers = tuple(_numbers(reply.text))[:MAX_NUMBERS]
    quantities = [quantity for card in task.cards for quantity in card.quantities]
    recalled = tuple(
        Recalled(key=quantity.key, said=said)
        for quantity in quantities
        for said in numbers
        if quantity.tolerance.accepts(said.value, quantity.value)
    )
    hidden, lines = Hidden(task), Lines.of(reply.text)
    traces = sorted({leak.kind for leak in (*hidden.sources("", lines), *hidden.cited_authors("", lines))})
    return ProbeAnswer(
        status="assessed",
        text=clean(reply.text, MAX_TEXT),
        numbers=numbers,
        recalled=recalled,
        traces=tuple(traces),
    )


def _numbers(text: str) -> Iterator[Said]:
    """The numbers that an answer lists; none where it is not the JSON that was asked for."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    listed = data.get("numbers") if isinstance(data, dict) else None
    for item in listed if isinstance(listed, list) else ():
        value = item.get("value") if isinstance(item, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            what, unit = clean(str(item.get("what", "")), 200), clean(str(item.get("unit", "")), 60)
            yield Said(what=what, value=value, unit=unit)

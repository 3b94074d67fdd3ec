"""A task's literature snapshot (`hidden/prior_art.yaml`), filled from the providers: what novelty is judged against."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ..models.prior_art import Hit, PriorArt, Query
from ..tasks import Task
from ..tasks.leaks import fold
from .blocklist import Blocklist, task_blocklist
from .providers import Provider, Publication, SearchFailed

RESULTS = 20
MADE_BY = "sciagent task prior-art"


def search_prior_art(task: Task, queries: Sequence[str], providers: Sequence[Provider], until: str | None) -> PriorArt:
    """Every query put to every provider; a search that failed is kept as incomplete.

    The study behind the task is left out, in whatever version; publications of any date are kept, since only those
    with a whole date before T0 are compared with findings. until: the last day that a publication may have, or None.
    """
    source = Blocklist(task_blocklist(task, (), None).targets)
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    made: list[Query] = []
    found: dict[str, Publication] = {}
    for text in queries:
        for provider in providers:
            hits, complete = _search(provider, text)
            made.append(Query(text=text, provider=provider.name, made_at=today, complete=complete))
            for hit in hits:
                late = until is not None and (hit.date is None or hit.date > until)
                if not late and not source.blocks(hit, dated=False):
                    _take_in(found, hit)
    distinct = list({id(hit): hit for hit in found.values()}.values())
    return PriorArt(
        schema_="sciagent-prior-art/1",
        made_by=MADE_BY,
        queries=tuple(made),
        hits=tuple(_hit(f"P{number}", hit) for number, hit in enumerate(distinct, start=1)),
    )


def _search(provider: Provider, text: str) -> tuple[list[Publication], bool]:
    try:
        return provider.search(text, RESULTS), True
    except SearchFailed:
        return [], False


def _take_in(found: dict[str, Publication], hit: Publication) -> None:
    names = [name for name in (hit.doi, hit.arxiv, fold(hit.title)) if name]
    if not any(name in found for name in names):
        found.update(dict.fromkeys(names, hit))


def _hit(name: str, found: Publication) -> Hit:
    return Hit(
        id=name,
        title=found.title,
        abstract=found.text,
        abstract_kind="abstract" if found.text else "none",
        date=found.date,
        doi=found.doi,
        authors=found.authors,
    )

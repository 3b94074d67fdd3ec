"""The hidden half of a task of TruthInsightBench: reference cards, source, prior art and verification scripts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field

from ...digest import sha256_bytes
from ...errors import SciagentError
from ...models import Card, Quantity, Reference, Source, Tolerance
from ...models.prior_art import Hit, PriorArt, Query
from ...models.task import Provenance
from ..foreign import Folder, Foreign
from ..gathering import as_yaml
from .scripts import Recompute, ScriptBinding, scripts_of

if TYPE_CHECKING:
    from .tasks import Manifest

ANCHORS = "validation_anchors.json"
SOURCE = "source_attribution.json"
_SNAPSHOTS = ("frozen_novelty_search_evidence.json", "frozen_novelty_search_evidence.metadata_only.json")
_QUERIES = "novelty_query_spec.json"
_DOI = ("https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "doi:")


class _Quantity(Foreign):
    key: str
    role: str
    value: float
    unit: str = ""
    tolerance_rel: float = 0.0


class AnchorCard(Foreign):
    """A card of `validation_anchors.json`."""

    card_id: str
    object: str
    scope: str
    direction_or_boundary: str = Field(min_length=1)
    quantities: tuple[_Quantity, ...] = ()
    recompute_binding: Recompute | None = None
    perturbation_bindings: tuple[ScriptBinding, ...] = ()


class _Anchors(Foreign):
    task_id: str
    t0: str
    cards: tuple[AnchorCard, ...]


class _Attribution(Foreign):
    title: str
    doi: str | None = None
    first_publication_date: str
    raw_data_record: str | list[str] | None = None
    data_record_creators: tuple[str, ...] = ()


class _Hit(Foreign):
    id: str | None = None
    doi: str | None = None
    title: str | None = None
    abstract: str | None = None
    publication_date: str | None = None
    date: str | None = None
    publication_year: int | None = None


class _Search(Foreign):
    query: str
    ok: bool | None = None
    request_completed: bool | None = None
    hits: tuple[_Hit, ...] = ()


class _SearchCard(Foreign):
    queries: tuple[_Search, ...] = ()


class _Snapshot(Foreign):
    cards: dict[str, _SearchCard]
    generated_at: str
    provider: str = "not stated"
    strict_before: str
    query_spec_sha256: str | None = None


@dataclass
class HiddenHalf:
    """Files of `hidden/` by their path in the task, and what is particular about them."""

    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def hidden_half(folder: Folder, manifest: Manifest) -> HiddenHalf:
    """The hidden half that the evaluator's `folder` makes. Anchors must be right; a faulty rest is left out, and noted.

    Raises:
        SciagentError: anchors that can't be read, or that are of another task or T0.
    """
    anchors = folder.document(ANCHORS, _Anchors)
    for name, told, expected in (("task_id", anchors.task_id, manifest.task_id), ("t0", anchors.t0, manifest.t0)):
        if told != expected:
            raise SciagentError(f"{name} is {told!r}, the task's is {expected!r}", path=folder.path / ANCHORS)
    half = HiddenHalf()
    if [card.card_id for card in anchors.cards] != ["A", "B"]:
        half.notes.append(f"{len(anchors.cards)} reference cards instead of A and B")
    reference = Reference(schema_="sciagent-reference/1", cards=tuple(_card(card) for card in anchors.cards))
    half.files["hidden/reference.yaml"] = as_yaml(reference).encode()
    _add_source(folder, manifest, half)
    novelty = folder.inner("novelty")
    if novelty is not None:
        _add_prior_art(novelty, manifest, half)
    bindings = {card.card_id: (card.recompute_binding, card.perturbation_bindings) for card in anchors.cards}
    files, notes = scripts_of(folder, manifest.task_id, bindings)
    half.files |= files
    half.notes += notes
    return half


def _card(card: AnchorCard) -> Card:
    return Card(
        id=card.card_id,
        object=card.object,
        scope=card.scope,
        direction=card.direction_or_boundary,
        quantities=tuple(
            Quantity(
                key=q.key,
                value=q.value,
                unit=q.unit,
                tolerance=Tolerance(relative=q.tolerance_rel),
                role="core" if q.role == "core" else "supporting",
            )
            for q in card.quantities
        ),
    )


def _add_source(folder: Folder, manifest: Manifest, half: HiddenHalf) -> None:
    if SOURCE not in folder.files:
        half.notes.append(f"no {SOURCE}: the source study is not known, so it can't be told from prior art")
        return
    try:
        told = folder.document(SOURCE, _Attribution)
        source = Source(
            schema_="sciagent-source/1",
            title=told.title,
            doi=_plain_doi(told.doi),
            authors=told.data_record_creators,
            first_public=told.first_publication_date,
        )
    except (SciagentError, ValueError) as error:
        half.notes.append(f"{SOURCE} is left out: {_reason(error)}")
        return
    half.files["hidden/source.yaml"] = as_yaml(source).encode()
    record = told.raw_data_record
    origin = "; ".join(record) if isinstance(record, list) else record
    provenance = Provenance.model_validate(
        {
            "schema": "sciagent-provenance/1",
            "origin": origin or (f"doi:{source.doi}" if source.doi else told.title),
            "licence": manifest.license_boundary,
        }
    )
    half.files["hidden/provenance.yaml"] = as_yaml(provenance).encode()


def _add_prior_art(novelty: Folder, manifest: Manifest, half: HiddenHalf) -> None:
    name = novelty.first(*_SNAPSHOTS)
    if name is None:
        half.notes.append("no frozen literature search: novelty stays not assessed")
        return
    try:
        snapshot = novelty.document(name, _Snapshot)
        problem = _not_ready(novelty, snapshot, manifest)
        if problem is not None:
            raise SciagentError(problem)
        art = _prior_art(snapshot)
    except (SciagentError, ValueError) as error:
        half.notes.append(f"the frozen literature search is left out: {_reason(error)}")
        return
    half.files["hidden/prior_art.yaml"] = as_yaml(art).encode()
    bare = sum(hit.abstract == "" for hit in art.hits)
    if bare:
        half.notes.append(f"{bare} of {len(art.hits)} publications of the literature search have no abstract")


def _not_ready(novelty: Folder, snapshot: _Snapshot, manifest: Manifest) -> str | None:
    if snapshot.strict_before != manifest.t0:
        return f"its cut-off is {snapshot.strict_before}, T0 is {manifest.t0}"
    told = snapshot.query_spec_sha256
    if told is not None and _QUERIES in novelty.files and sha256_bytes(novelty.bytes(_QUERIES)) != told:
        return f"it was made from another {_QUERIES}"
    return None


def _prior_art(snapshot: _Snapshot) -> PriorArt:
    searches = [search for card in snapshot.cards.values() for search in card.queries]
    made_at = snapshot.generated_at[:10]
    queries = tuple(
        Query(text=s.query, provider=snapshot.provider, made_at=made_at, complete=bool(s.ok or s.request_completed))
        for s in searches
    )
    hits: dict[str, Hit] = {}
    for found in (hit for search in searches for hit in search.hits):
        title = (found.title or "").strip()
        doi = _plain_doi(found.doi)
        key = (doi or title).casefold()
        if title and key not in hits:
            hits[key] = Hit(
                id=f"h{len(hits) + 1}",
                title=title,
                abstract=found.abstract or "",
                abstract_kind="abstract" if found.abstract else "none",
                date=_date(found),
                doi=doi,
            )
    return PriorArt(
        schema_="sciagent-prior-art/1",
        made_by=f"TruthInsightBench, {snapshot.provider}",
        queries=queries,
        hits=tuple(hits.values()),
    )


def _date(hit: _Hit) -> str | None:
    """The date as exact as it is known: a date of publication, else the year."""
    for text in (hit.publication_date, hit.date, str(hit.publication_year) if hit.publication_year else None):
        parts = (text or "").split("-")
        widths = [len(part) for part in parts]
        if widths in ([4], [4, 2], [4, 2, 2]) and all(part.isdecimal() for part in parts):
            return text
    return None


def _plain_doi(doi: str | None) -> str | None:
    text = (doi or "").strip()
    for prefix in _DOI:
        if text.lower().startswith(prefix):
            text = text[len(prefix) :]
    return text or None


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, SciagentError) else str(error).splitlines()[0]

"""Stage 2: sources for every goal, ranked over all of them, and what they say about meeting the goals.

The blocklist stands between providers and everything else: it is asked before a publication is read, and again about
every text that a prompt holds. Texts are fenced, and passages that read like instructions are flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from ..evidence.injection import find_instructions
from ..judging.answers import BadAnswer
from ..tasks import Task
from ..tasks.leaks import fold
from .answers import GoalDraft, GroundingAnswer, QueriesAnswer
from .blocklist import Blocklist
from .prompts import inputs_of
from .providers import Provider, Publication, SearchFailed
from .providers.local import LocalFolder
from .skeleton import goals_text
from .states import Literature, LiteratureSource, Search, Skeleton
from .task_questions import Ask, Desk

NOTHING = "nothing was searched: the task has no literature/ folder, and no provider was named"
NONE_FOUND = "the searches brought no source that may be used"
MOST_QUERIES = 5
RESULTS = 10
CORE = 7
SHOWN = 4000
FOLDER = "literature"


@dataclass
class _Hit:
    """A publication, the goals whose queries found it, and its best likeness to one of them."""

    found: Publication
    goals: dict[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Best likeness, more for each further goal, and for a text that can be read."""
        return max(self.goals.values()) + 5.0 * (len(self.goals) - 1) + (10.0 if len(self.found.text) > 200 else 0.0)


@dataclass
class Grounding:
    """The literature of one task: where it is searched, and what is blocked."""

    desk: Desk
    task: Task
    providers: Sequence[Provider]
    blocklist: Blocklist

    def __call__(self, skeleton: Skeleton) -> Literature:
        """The literature state of a skeleton.

        Raises:
            OpenQuestions, SciagentError: as `Desk.ask`; or a goal that itself names a blocked study.
        """
        local = self.task.path / FOLDER
        places = [*([LocalFolder(local)] if local.is_dir() else []), *self.providers]
        inputs = inputs_of(("queries", "grounding"), skeleton, [p.name for p in places], self.blocklist.t0)
        if not places:
            return Literature(task_id=self.task.id, inputs=inputs, note=NOTHING)
        made = self.desk.folder.current("literature", Literature, inputs)
        return made if made is not None else self._make(skeleton, places, inputs)

    def _make(self, skeleton: Skeleton, places: Sequence[Provider], inputs: str) -> Literature:
        goals = skeleton.goals
        values = {"goals": goals_text(goals), "domain": self.task.manifest.domain}
        queries = self.desk.one(Ask("queries", "queries", values, QueriesAnswer, partial(check_queries, goals=goals)))
        searches: list[Search] = []
        hits: dict[str, _Hit] = {}
        for place in places:
            for goal in queries.goals:
                for query in goal.queries:
                    search, found = self._search(place, goal.goal_id, query)
                    searches.append(search)
                    _take_in(hits, found, goal.goal_id, query)
        core = choose(list(hits.values()), [goal.id for goal in goals])
        sources = tuple(_source(f"L{n}", hit) for n, hit in enumerate(core, start=1))
        note = None if sources else NONE_FOUND
        grounded = self._ground(goals, sources) if sources else None
        return Literature(
            task_id=self.task.id,
            inputs=inputs,
            answers=self.desk.spent(),
            searches=tuple(searches),
            sources=sources,
            goals=grounded.goals if grounded is not None else (),
            note=note,
        )

    def _search(self, place: Provider, goal: str, query: str) -> tuple[Search, list[Publication]]:
        try:
            found = place.search(query, RESULTS)
        except SearchFailed as error:
            return Search(provider=place.name, goal_id=goal, query=query, status=str(error)), []
        allowed = [p for p in found if not self._blocked(place, p)]
        status = "ok" if found else "nothing found"
        return Search(provider=place.name, goal_id=goal, query=query, status=status, found=len(allowed)), allowed

    def _blocked(self, place: Provider, found: Publication) -> bool:
        whole = place.whole_text(found) if isinstance(place, LocalFolder) else None
        return self.blocklist.blocks(found, whole=whole, dated=not place.local)

    def _ground(self, goals: Sequence[GoalDraft], sources: Sequence[LiteratureSource]) -> GroundingAnswer:
        shown = [{"id": source.id, "shown": _shown(source)} for source in sources]
        values = {"goals": goals_text(goals), "sources": shown}
        check = partial(check_grounding, goals=goals, sources=sources)
        return self.desk.one(Ask("grounding", "grounding", values, GroundingAnswer, check))


def check_queries(answer: QueriesAnswer, goals: Sequence[GoalDraft]) -> None:
    """Raises `BadAnswer` where a goal has no queries, or a query can't be used."""
    if sorted(g.goal_id for g in answer.goals) != sorted(goal.id for goal in goals):
        raise BadAnswer("wrong_ids", "each goal needs its queries exactly once")
    for goal in answer.goals:
        if not 1 <= len(goal.queries) <= MOST_QUERIES:
            raise BadAnswer("wrong_number", f"{goal.goal_id}: give two to five queries")
        if any(not 2 <= len(query.split()) <= 12 for query in goal.queries):
            raise BadAnswer("wrong_shape", f"{goal.goal_id}: a query has three to eight words")


def check_grounding(answer: GroundingAnswer, goals: Sequence[GoalDraft], sources: Sequence[LiteratureSource]) -> None:
    """Raises `BadAnswer` where a goal is left out, or a source is named that was not shown."""
    if sorted(g.goal_id for g in answer.goals) != sorted(goal.id for goal in goals):
        raise BadAnswer("wrong_ids", "each goal must stand there exactly once")
    known = {source.id for source in sources}
    for goal in answer.goals:
        if wrong := sorted(set(goal.sources) - known):
            raise BadAnswer("wrong_ids", f"{goal.goal_id}: no such source: {', '.join(wrong)}")


def _take_in(hits: dict[str, _Hit], found: Sequence[Publication], goal: str, query: str) -> None:
    """Publications under one of their names: what several searches find is one."""
    from rapidfuzz import fuzz

    for one in found:
        names = [name for name in (one.doi, one.arxiv, fold(one.title)) if name]
        hit = next((hits[name] for name in names if name in hits), None) or _Hit(one)
        if len(one.text) > len(hit.found.text):
            hit.found = one
        likeness = fuzz.token_set_ratio(fold(query), fold(f"{one.title} {one.text}"))
        hit.goals[goal] = max(likeness, hit.goals.get(goal, 0.0))
        hits.update(dict.fromkeys(names, hit))


def choose(hits: Sequence[_Hit], goals: Sequence[str]) -> list[_Hit]:
    """The core sources: goal after goal its best one that is not chosen yet, until there are seven."""
    left = sorted({id(hit): hit for hit in hits}.values(), key=lambda hit: (-hit.score, hit.found.title))
    chosen: list[_Hit] = []
    while left and len(chosen) < CORE:
        before = len(chosen)
        for goal in goals:
            best = next((hit for hit in left if goal in hit.goals), None)
            if best is not None and len(chosen) < CORE:
                chosen.append(best)
                left.remove(best)
        if len(chosen) == before:
            break
    return sorted(chosen, key=lambda hit: (-hit.score, hit.found.title))


def _source(name: str, hit: _Hit) -> LiteratureSource:
    found = hit.found
    flags = find_instructions(name, f"{found.title}\n{found.text}")
    return LiteratureSource(
        id=name,
        title=found.title,
        year=found.year,
        date=found.date,
        doi=found.doi,
        arxiv=found.arxiv,
        url=found.url,
        authors=found.authors,
        provider=found.provider,
        goals=tuple(sorted(hit.goals)),
        text=found.text[:SHOWN],
        score=round(hit.score, 1),
        flags=tuple(f"{flag.kind}: {flag.excerpt}" for flag in flags),
    )


def _shown(source: LiteratureSource) -> str:
    return f"{source.title} ({source.year or 'no year'})\n{source.text}"

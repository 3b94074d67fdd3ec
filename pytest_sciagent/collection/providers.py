"""The judges of a session that are a provider's: how they are reached, and on what terms they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extras import need

if TYPE_CHECKING:
    from ..judging.clients import Client
    from ..judging.judge import Judge
    from ..judging.pump import Terms
    from ..judging.quota import Gates
    from ..models import JudgeIdentity
    from .judge_options import JudgeOptions
    from .state import SessionState


def provided_judges(state: SessionState) -> tuple[Judge, ...]:
    """The judges that are a provider's and may be asked; in a panel, those of its members."""
    from ..judging.judge import RecordedJudge
    from ..judging.panel import panel_of

    if state.options.judge is None:
        return ()
    found = [m for m in panel_of(state.judge).members if isinstance(m, RecordedJudge)]
    return tuple(m for m in found if m.identity is not None and state.options.asks(m.identity.kind))


def make_clients(state: SessionState) -> list[tuple[Judge, Client]]:
    """Each of them with a new connection to ask it by.

    Raises:
        SciagentError: no key, or bad settings.
    """
    options = state.options
    found: list[tuple[Judge, Client]] = []
    for judge in provided_judges(state):
        assert judge.identity is not None  # else nobody would know whom to ask
        gates = options.budget.gates(options.rootdir / ".sciagent" / "rates", judge.identity)
        url = options.base_url_of(judge.identity.label)
        found.append((judge, _client(judge.identity, url, gates, options.how)))
    return found


def _client(identity: JudgeIdentity, url: str | None, gates: Gates | None, how: JudgeOptions) -> Client:
    if how.dask is None:
        from ..judging.clients import make_client

        return make_client(identity, base_url=url, api_key=None, gates=gates, timeout_s=how.timeout_s)
    need("dask", "--sciagent-dask")
    from ..judging.dask_client import DaskClient

    return DaskClient(identity, how.dask, url, how.timeout_s, gates)


def terms_of(state: SessionState, judge: Judge) -> Terms:
    """On what terms a judge is asked. All of a session spend from one budget.

    Raises:
        pytest.UsageError: a budget in dollars, and no price known.
    """
    from ..judging.pump import Terms
    from ..judging.quota import Budget

    options, limits, identity = state.options, state.options.budget, judge.identity
    price = limits.price_of(identity, batch=options.how.batch) if identity is not None else None
    budget = None
    if limits.max_calls is not None or limits.max_cost is not None:
        file = options.rootdir / ".sciagent" / "budgets" / f"{state.session_id}.json"
        budget = Budget(file, max_calls=limits.max_calls, max_cost_usd=limits.max_cost)
    return Terms(options.in_flight, price, budget)

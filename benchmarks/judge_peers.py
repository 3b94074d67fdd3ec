"""The judgements of `judge.py` made by another tool, in that tool's own environment. Started by `judge.py`.

    PYTHON judge_peers.py deepeval|inspect|autorubric URL MATERIAL.json IN_FLIGHT [KEPT]

With KEPT, a folder, the tool keeps its answers there by its own cache, and a second call with it replays them.
MATERIAL holds `{"evidence": [text, …], "criteria": [text, …]}`: every criterion is asked about every evidence, one call
each, by the tool's usual way to let a model grade. Prints JSON: judgements made, and the seconds that they took without
start and imports.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ |= {
    "OPENAI_API_KEY": "none",
    "NO_PROXY": "127.0.0.1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "NO",
    "DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE": "600",
    "DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE": "600",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
Material = dict[str, list[str]]


def deepeval(url: str, material: Material, in_flight: int, keep: Path | None) -> tuple[int, float]:
    """One GEval metric a criterion, with its steps given; one test case a finding."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import GEval
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase, SingleTurnParams

    model = LocalModel(model="bench", base_url=url, api_key="none")
    metrics = [
        GEval(
            name=f"criterion {n}",
            evaluation_steps=[criterion],
            evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
            model=model,
        )
        for n, criterion in enumerate(material["criteria"])
    ]
    started = time.perf_counter()
    result = evaluate(
        [LLMTestCase(input="the finding", actual_output=evidence) for evidence in material["evidence"]],
        metrics,
        # It counts test cases, all of whose metrics run at once.
        async_config=AsyncConfig(max_concurrent=max(1, in_flight // len(metrics))),
        cache_config=CacheConfig(write_cache=keep is not None, use_cache=keep is not None),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    made = sum(data.score is not None for test in result.test_results for data in test.metrics_data or [])
    return made, time.perf_counter() - started


def inspect(url: str, material: Material, in_flight: int, keep: Path | None) -> tuple[int, float]:
    """One sample a criterion, graded by `model_graded_qa`; what is graded is not generated but given."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import CachePolicy, GenerateConfig, ModelOutput, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import Generate, TaskState, solver

    @solver
    def given() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("bench", state.metadata["evidence"])
            return state

        return solve

    samples = [
        Sample(input="the finding", target=criterion, metadata={"evidence": evidence})
        for evidence in material["evidence"]
        for criterion in material["criteria"]
    ]
    how = GenerateConfig(cache=CachePolicy(expiry=None)) if keep is not None else GenerateConfig()
    grader = get_model("openai/bench", base_url=url, api_key="none", responses_api=False, config=how)
    task = Task(dataset=samples, solver=given(), scorer=model_graded_qa(model=grader))
    started = time.perf_counter()
    logs = evaluate(
        task,
        model="mockllm/model",
        max_connections=in_flight,
        max_samples=in_flight,
        display="none",
        log_dir=tempfile.mkdtemp(),
    )
    scores = logs[0].reductions or []
    return sum(len(reduced.samples) for reduced in scores), time.perf_counter() - started


def autorubric(url: str, material: Material, in_flight: int, keep: Path | None) -> tuple[int, float]:
    """One rubric a finding, all graded at once; the tool's own limit holds the number in flight."""
    from autorubric import LLMConfig, Rubric
    from autorubric.graders import CriterionGrader

    config = LLMConfig(
        model="openai/bench",
        api_base=url,
        api_key="none",
        max_parallel_requests=in_flight,
        cache_enabled=keep is not None,
        cache_dir=str((keep or Path()) / "autorubric"),
    )
    grader = CriterionGrader(judge_model_config=config)

    rubric = Rubric.from_dict([{"weight": 1.0, "requirement": criterion} for criterion in material["criteria"]])

    async def one(evidence: str) -> int:
        result = await rubric.grade(to_grade=evidence, grader=grader, query="the finding")
        return sum(criterion.final_verdict is not None for criterion in result.report or [])

    async def everything() -> int:
        return sum(await asyncio.gather(*(one(evidence) for evidence in material["evidence"])))

    started = time.perf_counter()
    return asyncio.run(everything()), time.perf_counter() - started


def main() -> None:
    name, url, path, in_flight, *kept = sys.argv[1:]
    tool = {"deepeval": deepeval, "inspect": inspect, "autorubric": autorubric}[name]
    material = json.loads(Path(path).read_text("utf-8"))
    keep = Path(kept[0]).resolve() if kept else None
    os.environ["INSPECT_CACHE_DIR"] = str((keep or Path(tempfile.mkdtemp())) / "inspect")
    os.chdir(keep or tempfile.mkdtemp())  # some leave files where they are started
    with contextlib.redirect_stdout(io.StringIO()):
        made, seconds = tool(url, material, int(in_flight), keep)
    print(json.dumps({"judgements": made, "seconds": seconds}))


if __name__ == "__main__":
    main()

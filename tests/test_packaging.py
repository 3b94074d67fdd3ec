"""What is built and installed: contents of wheel and sdist, declared packages, and what is said without an extra."""

from __future__ import annotations

import ast
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import packages_distributions, requires
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sample import Cohort

import pytest_sciagent
from pytest_sciagent.extras import EXTRAS
from pytest_sciagent.schemas import schemas

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CORE_OF_THE_MISSION = {
    *("pytest", "pluggy", "pydantic", "jinja2", "openai", "anthropic", "pandas", "scipy", "pytest-xdist", "pytest-html")
}
BRING_NOTHING = {"calibration", "local"}
FOR_DEVELOPERS = {"all", "dev", "docs"}
OTHERS_ENVIRONMENTS = {"deepseek_harness"}
"""Imported by a script that runs in the harness's own environment."""


def names(texts: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in texts}


# ---- what is built


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], set[str]]:
    """The names of the files in the wheel and in the sdist (below its one folder)."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        in_wheel = set(wheel.namelist())
    with tarfile.open(next(folder.glob("*.tar.gz"))) as sdist:
        in_sdist = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    return in_wheel, in_sdist


def tracked(*folders: str) -> set[str]:
    """The files of the project below `folders`."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(ROOT).parts)
    }


def test_the_wheel_holds_the_whole_package_and_what_is_shipped_with_it(built: tuple[set[str], set[str]]) -> None:
    shipped = {f"pytest_sciagent/_shipped/{name}" for name in tracked("rubrics", "tasks", "schemas", "selfcheck")}
    held = {name for name in built[0] if ".dist-info/" not in name}
    assert held == tracked("pytest_sciagent") | shipped
    kinds = {PurePosixPath(name).suffix for name in held}
    assert kinds >= {".py", ".typed", ".j2", ".css", ".js", ".md", ".yaml", ".csv", ".json"}
    assert {f"pytest_sciagent/_shipped/schemas/{name}" for name in schemas()} <= held


def test_the_wheel_has_its_licence_and_both_entry_points(built: tuple[set[str], set[str]]) -> None:
    metadata = {PurePosixPath(name).name for name in built[0] if ".dist-info/" in name}
    assert metadata == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"}


def test_the_sdist_can_be_built_and_tested_again(built: tuple[set[str], set[str]]) -> None:
    needed = tracked("pytest_sciagent", "rubrics", "tasks", "schemas", "selfcheck", "tests", "runs", "verdicts", "docs")
    assert not needed - built[1]
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "conftest.py"} <= built[1]
    assert not {name for name in built[1] if name.startswith((".venv", ".sciagent", "dist/"))}


# ---- what is declared


@pytest.fixture(scope="module")
def distributions() -> Mapping[str, list[str]]:
    """The distributions that bring a module, by its name."""
    return packages_distributions()


def test_the_missions_packages_are_in_the_core() -> None:
    assert names(PROJECT["dependencies"]) >= CORE_OF_THE_MISSION


def test_every_requirement_has_a_lower_bound() -> None:
    wanted = [*PROJECT["dependencies"], *(t for extra, ts in PROJECT["optional-dependencies"].items() for t in ts)]
    stubs = {"pandas-stubs", "types-openpyxl", "types-PyYAML", "pytest-sciagent"}
    unbounded = [t for t in wanted if ">=" not in t and Requirement(t).name not in stubs]
    assert unbounded == []


def test_every_imported_module_is_declared(distributions: Mapping[str, list[str]]) -> None:
    """By the core where a module is imported without more; by an extra where `extras.py` names it."""
    found: set[str] = set()
    for path in Path(pytest_sciagent.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    outside = found - sys.stdlib_module_names - {"pytest_sciagent"} - OTHERS_ENVIRONMENTS
    of_extras = {module.split(".")[0] for modules in EXTRAS.values() for module in modules}
    core = {Requirement(text) for text in PROJECT["dependencies"]}
    declared = {canonicalize_name(r.name) for r in core}
    # An extra of a dependency, such as openai[aiohttp], is asked for by name.
    declared |= {
        canonicalize_name(Requirement(text).name)
        for r in core
        for text in requires(r.name) or ()
        for extra in r.extras
        if (marker := Requirement(text).marker) is not None and marker.evaluate({"extra": extra})
    }
    undeclared = {
        module
        for module in outside - of_extras
        if not declared & {canonicalize_name(name) for name in distributions.get(module, ())}
    }
    assert undeclared == set()


def test_the_extras_of_the_distribution_are_those_that_messages_name(distributions: Mapping[str, list[str]]) -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == set(EXTRAS) | BRING_NOTHING | (FOR_DEVELOPERS & set(extras))
    assert all(extras[name] == [] for name in BRING_NOTHING)
    for extra, modules in EXTRAS.items():
        brought = names(extras[extra]) | ({"cryptography"} if extra == "signing" else set())
        for module in modules:
            provided = {canonicalize_name(n) for n in distributions[module.split(".")[0]]}
            assert provided & brought, f"{module} is not brought by [{extra}]"
        assert not names(extras[extra]) & names(PROJECT["dependencies"]), f"[{extra}] repeats the core"
    whole = Requirement(extras["all"][0])
    assert whole.extras == set(EXTRAS)


# ---- what is said without an extra


FORMATS = {"h5py": "fit.h5", "openpyxl": "fit.xlsx", "pyarrow": "fit.parquet", "pypdf": "fit.pdf"}


def _seal(cohort: Cohort) -> tuple[int, str]:
    cohort.run()
    code, _, err = cohort.sciagent("seal", "--new-key", "lab.pem")
    return code, err


def _crate(cohort: Cohort) -> tuple[int, str]:
    run = cohort.run()
    code, _, err = cohort.sciagent("export", "ro-crate", run, "--rubric=small", "-o", "crate")
    return code, err


def _literature(cohort: Cohort) -> tuple[int, str]:
    command = ("task", "prior-art", "tasks/t1", "--query=slopes", "--provider=arxiv=http://127.0.0.1:9/", "--pause=0")
    code, _, err = cohort.sciagent(*command)
    return code, err


def _session(cohort: Cohort, *options: str) -> tuple[int, str]:
    cohort.run()
    result = cohort.pytest("--sciagent-run=runs", *options)
    return int(result.ret), result.stderr.str()


def _draw(cohort: Cohort) -> tuple[int, str]:
    cohort.run(files={"figs/a.svg": "<svg/>"})
    result = cohort.pytest("--sciagent-run=runs", "--sciagent-images")
    return int(result.ret), result.stderr.str()


USES: dict[str, Callable[[Cohort], tuple[int, str]]] = {
    "dask": lambda cohort: _session(cohort, "--sciagent-judge=openai:m", "--sciagent-dask=tcp://127.0.0.1:9"),
    "literature": _literature,
    "otel": lambda cohort: _session(cohort, "--sciagent-otel"),
    "ro-crate": _crate,
    "signing": _seal,
    "svg": _draw,
}


@pytest.fixture
def cohort(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return Cohort(pytester)


def hide(monkeypatch: pytest.MonkeyPatch, modules: tuple[str, ...]) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"science"}))
def test_without_its_extra_a_use_says_what_to_install(
    extra: str, cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, EXTRAS[extra])
    code, err = USES[extra](cohort)
    assert code == 4, err
    (line,) = [line for line in err.splitlines() if "not installed here" in line]
    assert line.endswith(f"pip install 'pytest-sciagent[{extra}]'")
    assert all(module in line for module in EXTRAS[extra])
    assert "Traceback" not in err


@pytest.mark.parametrize("module", EXTRAS["science"])
def test_a_run_is_refused_whose_files_nothing_here_can_read(
    module: str, cohort: Cohort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passed over, a file would cost the agent points for what is missing on this machine."""
    name = f"results/{FORMATS[module]}"
    cohort.run(files={name: "what it holds plays no part"})
    hide(monkeypatch, (module,))
    told = f"alpha/t1: reading output/{name} needs {module}, not installed here: pip install 'pytest-sciagent[science]'"
    result = cohort.pytest("--sciagent-run=runs")
    assert (result.ret, result.stderr.str().splitlines()) == (4, [f"ERROR: {told}"])
    for command in (
        ("compare", "runs", "--rubric=small"),
        ("ledger", "export", "runs", "--rubric=small", "--as=me", "-o", "p.jsonl"),
    ):
        code, _, err = cohort.sciagent(*command)
        assert (code, err) == (4, f"sciagent: {told}\n")


def test_a_run_without_such_files_needs_no_extra(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    cohort.run()
    cohort.record()
    hide(monkeypatch, EXTRAS["science"])
    result = cohort.pytest("--sciagent-run=runs")
    assert result.ret == 1, result.stderr.str()
    result.stdout.fnmatch_lines(["*alpha*t1*"])


def test_tables_in_parquet_need_the_extra(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.parquet").write_bytes(b"PAR1")
    hide(monkeypatch, ("pyarrow",))
    code, _, err = cohort.sciagent("compare", "t.parquet", "--rubric=small")
    assert code == 4
    assert err.endswith(
        "a table in Parquet needs pyarrow, not installed here: pip install 'pytest-sciagent[science]'\n"
    )


def test_the_doctor_tells_which_extras_are_installed(cohort: Cohort, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, ("distributed",))
    _, out, _ = cohort.sciagent("doctor")
    (line,) = [line for line in out.splitlines() if "extras:" in line]
    assert "science" in line.split(";")[0]
    assert line.endswith("not installed: pytest-sciagent[dask]")

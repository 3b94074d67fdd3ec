"""Fixtures for tests that run pytest inside pytest."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import shipped_report
from sample import Cohort

import pytest_sciagent

pytest_plugins = ["pytester"]

# An inner session in this process drops the modules it imported, and imports them again the next time; numpy and its
# like don't even survive that.
IMPORTED_FOR_GOOD = (
    "anthropic",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "cryptography.hazmat.primitives.serialization",
    "genai_prices.data",
    "h11",
    "httpcore2",
    "multiprocessing.connection",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_sharer",
    "numpy",
    "openai",
    "pandas",
    "pandas.core.arrays.arrow.extension_types",
    "pint",
    "pyarrow.parquet",
    "rapidfuzz",
    "scipy.optimize",
    "scipy.stats",
    "securesystemslib.dsse",
    "securesystemslib.signer",
    "truststore",
    "xdist.dsession",
)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is there now stays to the end: thousands of items that no collection of garbage needs to look through."""
    if not any(item.path.is_relative_to(Path(__file__).parent) for item in session.items):
        return  # pytest loads this file for the shipped runs as well, which need none of it
    ours = (module.name for module in pkgutil.walk_packages(pytest_sciagent.__path__, "pytest_sciagent."))
    for name in (*ours, *IMPORTED_FOR_GOOD):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in (name.partition(".")[0], "distributed"):
                raise
    gc.collect()
    gc.freeze()


@pytest.fixture
def cohort(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """An empty user's repository with a task and a rubric; the working folder is its root."""
    for name in ("PYTEST_ADDOPTS", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Cohort(pytester)


@pytest.fixture(scope="session")
def shipped_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML report of the shipped runs of one task, with gates and a baseline; `results.json` lies beside it."""
    gates = ("--sciagent-min-score=70", "--sciagent-baseline=runs/plain/astronomy_activity_cycle", "--sciagent-no-fall")
    return shipped_report(tmp_path_factory.mktemp("shipped"), *gates)


@pytest.fixture(scope="session")
def _bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture(scope="module")
def shared_bytecode(_bytecode: Path) -> Iterator[None]:
    """Sessions in processes of their own share what they compile, where the environment lets no bytecode be written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(_bytecode))
        yield


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers on this machine are reached without a proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def plain_http(no_proxy: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No certificates: plain http needs none, and reading all of them is most of what making a client costs."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture
def no_settings(plain_http: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment tells clients whom to ask, or with which key."""
    for name in ("API_KEY", "BASE_URL", "AUTH_TOKEN", "CUSTOM_HEADERS", "ORG_ID", "PROJECT_ID"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)

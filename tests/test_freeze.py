"""Freezing a workspace: roles, masking, what is refused, and that a run appears complete or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import string
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pytest_sciagent
from pytest_sciagent.errors import SciagentError
from pytest_sciagent.models import System, Usage
from pytest_sciagent.runs import Run, files
from pytest_sciagent.runs.freeze import FreezeOptions, Frozen, freeze, hash_inputs
from pytest_sciagent.runs.roles import find_report, role_of
from pytest_sciagent.runs.secrets import MASK, known_secrets, mask_secrets, secret_lines

OPTIONS = FreezeOptions(task_id="life_bill_shape", system=System(name="plain"))
STAMP = 1767323045  # 2026-01-02T03:04:05Z
B62 = string.ascii_letters + string.digits


def put(path: Path, content: str | bytes, mtime: float = STAMP) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (mtime, mtime))
    return path


def random_text(length: int, alphabet: str = B62, seed: int = 1) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    put(root / "output/Result.md", "# Finding 1\n\nLänge 3.1 mm\r\n")
    put(root / "output/code/fit.py", "print(1)\n")
    put(root / "output/results/fit.csv", "a,b\n1,2\n")
    put(root / "output/__pycache__/fit.pyc", b"\x00\x01")
    put(root / "data/individuals.csv", "x\n1\n")
    put(root / "commands.log", "python fit.py\n")
    put(root / "logs/agent/steps.jsonl", "{}\n")
    return root


def frozen(workspace: Path, options: FreezeOptions = OPTIONS, environ: Mapping[str, str] | None = None) -> Frozen:
    return freeze(workspace, workspace.parent / "runs/plain/life", options, environ or {})


def leftovers(workspace: Path) -> list[str]:
    return [path.name for path in workspace.parent.rglob("*freezing*")]


# Roles


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("output/Result.md", "report"),
        ("output/notes.md", "other"),
        ("logs/stdout.txt", "log"),
        ("logs/agent/picture.png", "log"),
        ("output/results/s1.LOG", "log"),
        ("output/run_log.txt", "log"),
        ("output/run_log4.txt", "log"),
        ("output/stderr.txt", "log"),
        ("output/part1_stdout.txt", "log"),
        ("output/log_fit_all.txt", "log"),
        ("output/log2_ratios.txt", "other"),
        ("output/catalog.txt", "other"),
        ("output/transcript_counts.json", "result"),
        ("output/a.ipynb", "notebook"),
        ("output/fit.R", "analysis_source"),
        ("output/run_all.sh", "analysis_source"),
        ("output/reproduce.sh", "reproduction"),
        ("output/Reproduction.md", "reproduction"),
        ("output/reproduce.py", "analysis_source"),
        ("output/Makefile", "reproduction"),
        ("output/requirements-dev.txt", "reproduction"),
        ("output/environment.yml", "reproduction"),
        ("output/Dockerfile", "reproduction"),
        ("output/fig.1.PDF", "figure"),
        ("output/table.csv.gz", "result"),
        ("output/text.txt.gz", "other"),
        ("output/x.h5", "result"),
        ("output/model.pkl", "other"),
        ("output/csv", "other"),
        ("output/py/", "other"),
        ("output/.py/x", "other"),
    ],
)
def test_a_role_follows_from_the_path(path: str, role: str) -> None:
    assert role_of(path, "output/Result.md") == role


@given(st.text(max_size=80))
def test_every_name_has_a_role(name: str) -> None:
    assert role_of("output/" + name, None) != "report"
    assert role_of("logs/" + name, None) == "log"


@pytest.mark.parametrize(
    ("names", "report"),
    [
        (["output/Result.md", "output/report.md", "output/a.md"], "output/Result.md"),
        (["output/RESULT.MD", "output/report.md"], "output/RESULT.MD"),
        (["output/REPORT.md", "output/plan.md"], "output/REPORT.md"),
        (["output/summary.md", "output/sub/Result.md", "logs/Result.md"], "output/summary.md"),
        (["output/plan.md", "output/notes.md"], None),
        (["output/sub/Result.md"], None),
        ([], None),
    ],
)
def test_the_report_is_found_by_its_name(names: list[str], report: str | None) -> None:
    assert find_report(names) == report


@pytest.mark.parametrize("names", [("output/Result.md", "output/result.md"), ("output/REPORT.md", "output/report.md")])
def test_two_reports_of_one_rank_are_an_error_that_names_both(names: tuple[str, str]) -> None:
    with pytest.raises(SciagentError, match=f"{names[0]}.*{names[1]}.*--report"):
        find_report(names)


# Secrets

SECRETS = {
    "openai": "sk-" + random_text(48),
    "openai project": "sk-proj-" + random_text(40, B62 + "_-"),
    "anthropic": "sk-" + "ant-api03-" + random_text(80, B62 + "_-"),
    "openrouter": "sk-" + "or-v1-" + random_text(64, "0123456789abcdef"),
    "same letter": "sk-" + "a" * 40,
    "github": "ghp_" + random_text(36),
    "github oauth": "gho_" + random_text(36),
    "github fine-grained": "github_pat_" + random_text(22) + "_" + random_text(59),
    "hugging face": "hf_" + random_text(34),
    "slack": "xoxb-" + "123456789012-" + random_text(24),
    "aws": "AKIA" + random_text(16, string.ascii_uppercase + string.digits),
    "google": "AIza" + random_text(35),
    "jwt": "eyJ" + random_text(20) + ".eyJ" + random_text(60) + "." + random_text(43, B62 + "_-"),
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize("around", ["{}", "using {} now\n", '{{"a": "{}", "b": 1}}', "({}),", "a='{}'", "\\n{}\\n"])
def test_a_secret_is_masked_by_its_shape(secret: str, around: str) -> None:
    if around.startswith("\\n"):
        around = around.replace("\\n", " \\n ")  # as separate words of an escaped line
    assert mask_secrets(around.format(secret)) == (around.format(MASK), 1)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [masked]"),
        ("authorization: basic dXNlcjpwYXNzd29yZDE=", "authorization: basic [masked]"),
        ("OPENAI_API_KEY=Zx81kq02mmPd", "OPENAI_API_KEY=[masked]"),
        ("export AZURE_KEY='0f1e2d3c4b5a69788796a5b4c3d2e1f0'", "export AZURE_KEY='[masked]'"),
        ('{"password": "hunter2hunter2", "user": "x"}', '{"password": "[masked]", "user": "x"}'),
        (r"{\"client_secret\": \"a1b2c3d4e5\"}", r"{\"client_secret\": \"[masked]\"}"),
        ("{'api_key': 'a1b2c3d4e5'}", "{'api_key': '[masked]'}"),
        ("x-api-key: a1b2c3d4e5", "x-api-key: [masked]"),
        ("tool --api-key a1b2c3d4e5 --out x", "tool --api-key [masked] --out x"),
        ("git clone https://bot:s3cr3t@example.org/x.git", "git clone https://bot:[masked]@example.org/x.git"),
        ("GET /v1?token=0f1e2d3c4b5a69788796a5b4&page=2", "GET /v1?token=[masked]&page=2"),
        ("key: Zx81kq02mmPd77TfQw", "key: [masked]"),
        ("key=token=0f1e2d3c4b5a69788796a5b4 x", "key=token=[masked] x"),
    ],
)
def test_a_secret_is_masked_by_its_name(text: str, masked: str) -> None:
    assert mask_secrets(text) == (masked, 1)


def test_a_private_key_is_masked_whole_and_cut_off() -> None:
    body = "\n".join(random_text(64, seed=n) for n in range(5))
    begin, end = "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END RSA PRIVATE" + " KEY-----"
    assert mask_secrets(f"a\n{begin}\nProc-Type: 4,ENCRYPTED\n\n{body}\n{end}\nb") == ("a\n[masked]\nb", 1)
    assert mask_secrets(f"a\n{begin}\n{body}\nthe end") == ("a\n[masked]\nthe end", 1)
    escaped = f"{begin}\n{body}\n{end}".replace("\n", "\\n")
    assert mask_secrets(f'"{escaped}"') == ('"[masked]"', 1)
    assert mask_secrets(f"the line {begin} opens a key\n")[1] == 0


@pytest.mark.parametrize(
    "line",
    [
        "key=mean_length token=word",
        "sha256: " + hashlib.sha256(b"a").hexdigest(),
        "data/x.csv " + hashlib.sha256(b"b").hexdigest() + " 1,204 bytes",
        "cache key: " + hashlib.sha256(b"c").hexdigest(),
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "tokens: 120394857 max_tokens=100000000 tokens_per_second=1234.56789",
        "tokenizer=cl100k_base tokenizer: meta-llama/Llama-3.1-8B-Instruct",
        "keyword=co2_flux_2020_station_17 monkey=a1b2c3d4e5f6g7h8",
        "key=co2_h2o_n2o_o3 key: 2024-01-01T00:00:00Z sort key = station_1234",
        "insulin_secretion_rate=1.2e-05nmol secreted: a1b2c3d4",
        "secret_share=1.25e-05 password required, password: ********",
        "the bearer characterization; basic characterization of bearer molecules",
        "risk-adjusted-survival-of-2024-cohort-by-region-and-age sk-learn-contrib-wrappers",
        "hf_dataset_2024_train_split_of_the_year",
        "http://localhost:8080/@fs/x  user@example.org 12:30:45",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "for key in sorted(table): print(key, table[key])",
        "1e-05 0.123456789 -3.25e+10 NP_001234567.1 ENSG00000139618 GSE123456",
        "",
    ],
)
def test_ordinary_log_lines_stay(line: str) -> None:
    assert mask_secrets(line) == (line, 0)


def test_known_values_are_masked_also_as_json_and_in_urls() -> None:
    known = ['pass"word', "a b/c+defg", "short"]
    text = r"""pass"word {"x": "pass\"word"} ?k=a%20b%2Fc%2Bdefg short"""
    assert mask_secrets(text, known) == (r"""[masked] {"x": "[masked]"} ?k=[masked] short""", 3)


def test_overlapping_secrets_are_one() -> None:
    assert mask_secrets("abcdefghijkl", ["abcdefgh", "efghijkl"]) == (MASK, 1)


def test_known_secrets_are_long_values_of_telling_names() -> None:
    environ = {
        "OPENAI_API_KEY": "abcdefgh",
        "my_password": "longer-one",
        "GH_TOKEN": "abcdefgh",
        "A_SECRET": "short",
        "SSH_KEY_PATH": "/home/someone",
        "HOME": "/home/someone",
    }
    assert known_secrets(environ) == ["longer-one", "abcdefgh"]


def test_the_lines_of_secrets_are_told() -> None:
    secret = SECRETS["github"]
    assert secret_lines(f"a\n{secret} {SECRETS['aws']}\n\nb {secret}\n") == [2, 4]
    assert secret_lines("a\nb\n") == []


FRAGMENTS = st.sampled_from(
    ["sk-", "eyJ", ".", "key=", "token: ", "password", "-----BEGIN PRIVATE KEY-----", "-----", "-----END ", "Bearer ",
     "A1b2C3d4", "AKIA", "://", "@", ":", "=", '"', "\\n", "\n", " ", "--", "x", "ghp_", "[masked]"]
)  # fmt: skip


@given(st.lists(FRAGMENTS | st.text(max_size=5), max_size=40), st.lists(st.text(max_size=12), max_size=3))
def test_masking_only_replaces_and_leaves_no_known_value(parts: list[str], known: list[str]) -> None:
    text = "".join(parts) + "".join(known)
    masked, count = mask_secrets(text, known)
    assert masked.count(MASK) - count <= text.count(MASK)
    if count == 0:
        assert masked == text
    rest = iter(text)
    assert all(character in rest for kept in masked.split(MASK) for character in kept)
    assert secret_lines(text, known) == sorted(set(secret_lines(text, known)))
    for value in known:  # one that neither overlaps itself nor shares a letter with the mask is gone
        if len(value) >= 8 and len(set(value + MASK)) == len(value) + len(set(MASK)):
            assert value not in masked


@settings(max_examples=25, deadline=None)
@given(st.lists(FRAGMENTS, min_size=1, max_size=3))
def test_masking_takes_linear_time(parts: list[str]) -> None:
    """Ten times the text, about ten times the time: a quadratic pattern would take a hundred times."""

    def seconds(length: int) -> float:
        unit = "".join(parts)
        text = unit * (length // len(unit))
        start = time.process_time()
        mask_secrets(text)
        return time.process_time() - start

    short = min(seconds(10_000) for _ in range(2))
    assert seconds(100_000) < 40 * short + 0.2


# Freezing


def test_a_frozen_run_verifies_and_says_what_it_holds(workspace: Path) -> None:
    options = FreezeOptions(
        task_id="life_bill_shape",
        system=System(name="plain", model="m-1", prompts={"prompt.md": "0" * 64}),
        repeat=2,
        status="failed",
        exit_code=3,
        started_at="2026-01-02T03:04:05Z",
        finished_at="2026-01-02T05:04:05.5+02:00",
        usage=Usage(input_tokens=5),
        inputs_before=hash_inputs(workspace),
    )
    result = frozen(workspace, options)
    run = Run.load(result.run.path)
    assert run.problems() == []
    assert (result.masked, result.warnings) == (0, ())
    assert run.label == "plain/life_bill_shape.r2"
    assert [(file.path, file.role) for file in run.manifest.files] == [
        ("logs/agent/steps.jsonl", "log"),
        ("logs/commands.log", "log"),
        ("output/Result.md", "report"),
        ("output/__pycache__/fit.pyc", "other"),
        ("output/code/fit.py", "analysis_source"),
        ("output/results/fit.csv", "result"),
    ]
    assert run.manifest.report == "output/Result.md"
    assert {file.mtime for file in run.manifest.files} == {"2026-01-02T03:04:05Z"}
    assert run.manifest.inputs.after == {"data/individuals.csv": hashlib.sha256(b"x\n1\n").hexdigest()}
    assert run.manifest.inputs.before == run.manifest.inputs.after
    assert (run.manifest.status, run.manifest.exit_code, run.manifest.usage.input_tokens) == ("failed", 3, 5)


def test_output_is_copied_byte_for_byte_with_its_times(workspace: Path) -> None:
    run = frozen(workspace).run
    for source in sorted((workspace / "output").rglob("*.*")):
        copy = run.path / source.relative_to(workspace)
        assert copy.read_bytes() == source.read_bytes()
        assert copy.stat().st_mtime == STAMP
    assert run.path.stat().st_mode == (workspace / "output").stat().st_mode


def test_the_manifest_is_the_same_each_time(workspace: Path) -> None:
    first = freeze(workspace, workspace.parent / "a", OPTIONS, {}).run.path / "run.json"
    text = first.read_text("utf-8")
    assert text == (freeze(workspace, workspace.parent / "b", OPTIONS, {}).run.path / "run.json").read_text("utf-8")
    assert text.endswith("\n}\n")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_secrets_are_masked_in_logs_only(workspace: Path) -> None:
    value = "correct horse battery"
    put(workspace / "output/code/fit.py", f"import os\nKEY = '{SECRETS['github']}'\n#\n# {value}\n")
    put(workspace / "stdout.txt", f"login with {value}\n{SECRETS['aws']}\nkey=mean_length\n".encode() + b"\xff\n")
    result = frozen(workspace, environ={"MY_PASSWORD": value})
    assert result.masked == 2
    assert result.run.read_bytes("logs/stdout.txt") == b"login with [masked]\n[masked]\nkey=mean_length\n\xff\n"
    assert SECRETS["github"].encode() in result.run.read_bytes("output/code/fit.py")
    (warning,) = [text for text in result.warnings if "secret" in text]
    assert warning.startswith("output/code/fit.py:2: ")
    assert "1 more" in warning
    assert value not in warning
    assert result.run.problems() == []


def test_a_known_secret_in_a_binary_file_of_output_is_told(workspace: Path) -> None:
    put(workspace / "output/store.bin", b"\0\1" + b"correct horse battery")
    result = frozen(workspace, environ={"MY_PASSWORD": "correct horse battery"})
    assert [text for text in result.warnings if text.startswith("output/store.bin:1: ")]


def test_a_binary_log_is_kept_with_a_warning(workspace: Path) -> None:
    data = "token".encode("utf-16")
    put(workspace / "logs/shell.txt", data)
    result = frozen(workspace)
    assert result.run.read_bytes("logs/shell.txt") == data
    assert any(text.startswith("logs/shell.txt: not plain text") for text in result.warnings)


def test_logs_of_the_workspace_are_taken(workspace: Path) -> None:
    put(workspace / "stderr.txt", "")
    put(workspace / "transcript.jsonl", "{}")
    put(workspace / "transcripts/one.txt", "1")
    put(workspace / "notes.txt", "not a log")
    logs = [file.path for file in frozen(workspace).run.with_role("log")]
    assert logs == [
        "logs/agent/steps.jsonl",
        "logs/commands.log",
        "logs/stderr.txt",
        "logs/transcript.jsonl",
        "logs/transcripts/one.txt",
    ]


def test_named_logs_replace_those_of_the_workspace(workspace: Path) -> None:
    elsewhere = put(workspace.parent / "harness/session.jsonl", "{}")
    options = FreezeOptions("t", System(name="s"), logs=(elsewhere, workspace / "logs/agent/steps.jsonl"))
    logs = [file.path for file in frozen(workspace, options).run.with_role("log")]
    assert logs == ["logs/session.jsonl", "logs/steps.jsonl"]


def test_two_logs_of_one_name_are_an_error(workspace: Path) -> None:
    put(workspace / "logs/commands.log", "other")
    with pytest.raises(SciagentError, match=r"logs/commands\.log of the run.*rename one"):
        frozen(workspace)


def test_without_report_and_data_the_run_is_frozen_with_warnings(workspace: Path) -> None:
    (workspace / "output/Result.md").unlink()
    (workspace / "data/individuals.csv").unlink()
    (workspace / "data").rmdir()
    result = frozen(workspace)
    assert result.run.manifest.report is None
    assert result.run.manifest.inputs.after is None
    assert [text.split(":")[0] for text in result.warnings] == [
        "no report was found in output/",
        "no folder data/ in the workspace",
    ]


def test_an_empty_output_can_be_frozen(tmp_path: Path) -> None:
    (tmp_path / "workspace/output").mkdir(parents=True)
    run = frozen(tmp_path / "workspace").run
    assert run.manifest.files == ()
    assert run.problems() == []


@pytest.mark.parametrize("name", ["output/notes.md", "notes.md"])
def test_the_report_can_be_named(workspace: Path, name: str) -> None:
    put(workspace / "output/notes.md", "x")
    run = frozen(workspace, FreezeOptions("t", System(name="s"), report=name)).run
    assert run.manifest.report == "output/notes.md"
    assert [file.path for file in run.with_role("report")] == ["output/notes.md"]


@pytest.mark.parametrize("name", ["missing.md", "../data/individuals.csv", "data/individuals.csv", ""])
def test_a_named_report_must_be_below_output(workspace: Path, name: str) -> None:
    with pytest.raises(SciagentError, match="not a file below output/"):
        frozen(workspace, FreezeOptions("t", System(name="s"), report=name))


def test_hard_links_odd_names_and_odd_times_are_kept(workspace: Path) -> None:
    os.link(workspace / "output/Result.md", workspace / "output/again.md")
    put(workspace / "output/two\nlines ünï.csv", "1")
    put(workspace / "output/old.csv", "1", mtime=-1.0)
    put(workspace / "output/far.csv", "1", mtime=1e10)
    run = frozen(workspace).run
    assert run.problems() == []
    assert run.read_bytes("output/again.md") == (workspace / "output/Result.md").read_bytes()
    assert "output/two\nlines ünï.csv" in run.files
    assert run.files["output/old.csv"].mtime == "1969-12-31T23:59:59Z"
    assert run.files["output/far.csv"].mtime == "2286-11-20T17:46:40Z"


@pytest.mark.parametrize("place", ["output/link", "output/code/deep/link", "logs/link", "data/link", "commands.log"])
@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "fifo"])
def test_links_and_fifos_are_refused_by_name(workspace: Path, place: str, kind: str) -> None:
    outside = put(workspace.parent / "outside/secret.txt", "x")
    path = workspace / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to({"file": outside, "folder": outside.parent, "dangling": workspace / "nowhere"}[kind])
    with pytest.raises(SciagentError, match=rf"{place}: .*(link|regular file)"):
        frozen(workspace)
    assert not (workspace.parent / "runs/plain/life").exists()
    assert leftovers(workspace) == []


@pytest.mark.parametrize("folder", ["output", "logs", "data"])
def test_a_folder_that_is_a_link_is_refused(workspace: Path, folder: str) -> None:
    (workspace / folder).rename(workspace.parent / "real")
    (workspace / folder).symlink_to(workspace.parent / "real")
    with pytest.raises(SciagentError, match=f"{folder}: is not a folder of its own"):
        frozen(workspace)


def test_a_chosen_log_that_is_a_link_is_refused(workspace: Path) -> None:
    link = workspace.parent / "session.log"
    link.symlink_to(workspace / "commands.log")
    with pytest.raises(SciagentError, match=r"session\.log: is not a regular file"):
        frozen(workspace, FreezeOptions("t", System(name="s"), logs=(link,)))


def test_a_chosen_log_behind_a_link_in_the_workspace_is_refused(workspace: Path) -> None:
    outside = put(workspace.parent / "outside/session.log", "x")
    (workspace / "agent").symlink_to(outside.parent)
    with pytest.raises(SciagentError, match=r"session\.log: can't be frozen"):
        frozen(workspace, FreezeOptions("t", System(name="s"), logs=(workspace / "agent/session.log",)))


@pytest.mark.parametrize("name", [b"bad\xff.csv", b"back\\slash.csv"])
@pytest.mark.parametrize("folder", [b"output", b"logs", b"data"])
def test_names_a_run_cannot_hold_are_refused(workspace: Path, folder: bytes, name: bytes) -> None:
    put(workspace / os.fsdecode(folder) / os.fsdecode(name), "x")
    with pytest.raises(SciagentError, match=r"not UTF-8|not a plain relative path") as caught:
        frozen(workspace)
    str(caught.value).encode()


def test_a_file_over_the_limit_is_refused(workspace: Path) -> None:
    with (workspace / "output/huge.bin").open("wb") as handle:
        handle.truncate(files.MAX_FILE_BYTES + 1)
    with pytest.raises(SciagentError, match=r"huge\.bin.*more than"):
        frozen(workspace)


def test_a_tree_that_would_not_verify_is_refused(workspace: Path) -> None:
    deep = workspace / "output" / "/".join("d" * (files.MAX_DEPTH + 1))
    put(deep / "x.csv", "1")
    with pytest.raises(SciagentError, match="deeper than"):
        frozen(workspace)
    put(deep.parent / "x.csv", "1")
    (deep / "x.csv").unlink()
    deep.rmdir()
    with pytest.raises(SciagentError, match="would not verify"):
        frozen(workspace)
    assert leftovers(workspace) == []


def test_a_workspace_without_output_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SciagentError, match="no folder output/"):
        freeze(tmp_path, tmp_path / "run", OPTIONS, {})


def test_a_target_that_holds_something_is_refused_and_left(workspace: Path) -> None:
    target = workspace.parent / "run"
    kept = put(target / "kept.txt", "x")
    with pytest.raises(SciagentError, match="exists and is not empty"):
        freeze(workspace, target, OPTIONS, {})
    assert list(target.iterdir()) == [kept]


def test_an_empty_target_is_filled(workspace: Path) -> None:
    target = workspace.parent / "run"
    target.mkdir()
    assert freeze(workspace, target, OPTIONS, {}).run.problems() == []


def test_a_target_that_is_a_file_or_a_link_is_refused(workspace: Path) -> None:
    put(workspace.parent / "file", "x")
    (workspace.parent / "empty").mkdir()
    (workspace.parent / "link").symlink_to(workspace.parent / "empty")
    for name in ("file", "link"):
        with pytest.raises(SciagentError, match="exists and is not a folder"):
            freeze(workspace, workspace.parent / name, OPTIONS, {})


@pytest.mark.parametrize("target", ["output", "output/run", "logs/run", "data/run", "output/code/../run"])
def test_a_target_inside_what_is_frozen_is_refused(workspace: Path, target: str) -> None:
    with pytest.raises(SciagentError, match="lies inside"):
        freeze(workspace, workspace / target, OPTIONS, {})
    assert not (workspace / "output/run").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("no space")])
@pytest.mark.parametrize("step", ["fsync", "utime", "rename"])
def test_an_interrupted_freeze_leaves_nothing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: type[BaseException] | BaseException
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Path if step == "rename" else os, step, interrupted)
    with pytest.raises((KeyboardInterrupt, SciagentError)):
        frozen(workspace)
    assert list((workspace.parent / "runs/plain").iterdir()) == []


@pytest.mark.parametrize("stamp", ["2026-01-02", "2026-01-02T03:04:05", "yesterday", "", "2026-13-02T03:04:05Z"])
@pytest.mark.parametrize("field", ["started_at", "finished_at"])
def test_a_time_needs_its_zone(workspace: Path, field: str, stamp: str) -> None:
    with pytest.raises(SciagentError, match=f"{field} is .*time zone"):
        frozen(workspace, FreezeOptions("t", System(name="s"), **{field: stamp}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (FreezeOptions("../up", System(name="s")), r"task_id is '\.\./up'"),
        (FreezeOptions("t", System(name="s"), repeat=0), "repeat is 0"),
        (FreezeOptions("t", System(name="s"), inputs_before={"data/x": "zz"}), "before.data/x is 'zz'"),
    ],
)
def test_bad_options_are_named(workspace: Path, options: FreezeOptions, message: str) -> None:
    with pytest.raises(SciagentError, match=message):
        frozen(workspace, options)


def test_inputs_are_hashed_by_path(workspace: Path) -> None:
    put(workspace / "data/a/b.csv", "")
    hashes = hash_inputs(workspace)
    assert hashes is not None
    assert list(hashes) == ["data/a/b.csv", "data/individuals.csv"]
    assert hash_inputs(workspace.parent) is None


def test_no_group_of_a_pattern_is_possessive() -> None:
    """Before Python 3.11.5, such a group could miss what it should match: a private key stayed where it was."""
    group = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    package = Path(pytest_sciagent.__file__).parent
    sources = {path: path.read_text("utf-8") for path in package.rglob("*.py")}
    assert not [str(path) for path, text in sources.items() if group.search(text)]
    assert group.search(r"(?:a|b)*+")

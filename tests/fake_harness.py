"""A program that speaks the command line and the output of a harness: claude, codex, openscience, openclaw, or none.

It is installed under that name; FAKE says what it does. Every call is written down, so that a test can look at it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NAME = Path(sys.argv[0]).name
ARGS = sys.argv[1:]
HOME = Path(os.environ["HOME"])
VERSIONS = {
    "claude": "2.1.220 (Claude Code)",
    "codex": "codex-cli 0.149.0",
    "openscience": "2.0.1",
    "openclaw": "OpenClaw 2026.2.17",
}
REPORT = """# Report

## Finding 1: the values differ

The mean of the first column, from `output/results/mean.csv` by `output/code/mean.py`.
"""


def deliver(mended=True):
    for path, text in {
        "output/code/mean.py": "print(1)\n",
        "output/results/mean.csv": "mean,mean_se\n2.0,0.1\n",
        "output/Result.md": REPORT if mended else REPORT.replace("`output/code/mean.py`", "a script"),
    }.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def print_events(turn):
    names = ("ANTHROPIC_API_KEY", "SCIAGENT_MODEL_KEY", "DEEPSEEK_API_KEY", "MODEL_KEY")
    key = next((os.environ[name] for name in names if name in os.environ), None) or (HOME / "key").read_text()
    secret = f" {key}" if os.environ["FAKE"] == "spills" else ""
    lines = {
        "claude": [
            {"type": "system", "subtype": "init", "session_id": "s-1", "cwd": str(Path.cwd())},
            {"type": "assistant", "session_id": "s-1", "message": {"id": "m1", "usage": {"input_tokens": 900}}},
            {
                "type": "result",
                "session_id": "s-1",
                "result": f"done{secret}",
                "total_cost_usd": 0.25,
                "usage": {"input_tokens": 1000, "cache_read_input_tokens": 500, "output_tokens": 200},
            },
        ],
        "codex": [
            {"type": "thread.started", "thread_id": "t-1"},
            {"type": "item.completed", "item": {"type": "agent_message", "text": f"done{secret}"}},
            {
                "type": "turn.completed",
                "usage": {"input_tokens": 1500, "cached_input_tokens": 500, "output_tokens": 200},
            },
        ],
        "openscience": [
            {"type": "text", "sessionID": "ses_1", "part": {"text": f"done{secret}"}},
            {
                "type": "step_finish",
                "part": {
                    "cost": 0.25,
                    "tokens": {"input": 1000, "output": 150, "reasoning": 50, "cache": {"read": 500}},
                },
            },
        ],
        "agent": [{"said": f"done{secret}"}, {"usage": {"in": 1500, "out": 200, "usd": 0.25}}],
    }
    for line in lines.get(NAME, ()):
        print(json.dumps(line), flush=True)
    if NAME == "openclaw":
        used = {"input": 1000, "output": 200, "cacheRead": 500, "cacheWrite": 0}
        answer = {"payloads": [{"text": f"done{secret}"}], "meta": {"agentMeta": {"usage": used}}}
        print(json.dumps(answer, indent=2))
        place = HOME / ".openclaw/agents/main/sessions"
        place.mkdir(parents=True, exist_ok=True)
        (place / "sciagent.jsonl").write_text(json.dumps({"type": "session", "turn": turn}) + "\n")


def main():
    calls = HOME / "calls.jsonl"
    stdin = "" if sys.stdin.isatty() else sys.stdin.read()
    earlier = calls.read_text().splitlines() if calls.exists() else []
    with calls.open("a") as handle:
        handle.write(json.dumps({"args": ARGS, "stdin": stdin, "cwd": str(Path.cwd())}) + "\n")
    if ARGS == ["--version"]:
        print(VERSIONS.get(NAME, "agent 1.2.3"))
        return 0
    if ARGS[:1] in (["local"], ["onboard"], ["setup"]):
        key = next((ARGS[i + 1] for i, word in enumerate(ARGS) if word in ("--key", "--custom-api-key")), None)
        if key:
            (HOME / "key").write_text(key)
        return 0
    before = [json.loads(call)["args"][:1] for call in earlier]
    turn = sum(args not in (["--version"], ["local"], ["onboard"], ["setup"]) for args in before)
    fake = os.environ["FAKE"]
    if fake == "hangs":
        Path(os.environ["CHILD"]).write_text(str(os.getpid()))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("thinking", flush=True)
        time.sleep(600)
    if fake == "talks":
        while True:
            print_events(turn)
            time.sleep(0.05)
    if fake == "fails":
        print("out of luck", file=sys.stderr)
        return 3
    if fake == "no-report":
        Path("output/notes.txt").write_text("nothing\n")
        print_events(turn)
        return 0
    deliver(mended=fake != "needs-mending" or turn > 0)
    if fake == "spills":
        pid = os.fork()
        if pid == 0:
            os.setsid()
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(os.environ["CHILD"]).write_text(str(child.pid))
            os._exit(0)
        os.waitpid(pid, 0)
    if fake == "delivers-secret":
        Path("output/env.txt").write_text(json.dumps(dict(os.environ)))
    if fake == "changes-data":
        path = next(Path("data").iterdir())
        path.parent.chmod(0o755)
        path.chmod(0o644)
        path.write_text("x\n")
    if fake == "links":
        Path("output/link.csv").unlink(missing_ok=True)
        Path("output/link.csv").symlink_to("/etc/hostname")
    if fake == "odd-name":
        Path(os.fsdecode(b"output/\xff.txt")).write_text("x")
    if fake == "strays":
        Path("scratch.txt").write_text("notes\n")
    print_events(turn)
    (Path(os.environ["CALLS"])).write_text(calls.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())

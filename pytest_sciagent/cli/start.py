"""Commands for the beginning: set a repository up, and let a shell complete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import SciagentError
from .common import PATH

PARTS = ("config", "criterion", "workflow")
_FILES = {"criterion": "conftest.py", "workflow": ".github/workflows/sciagent.yml"}
SHELLS = ("bash", "zsh", "fish")
COMPLETION_VARIABLE = "_SCIAGENT_COMPLETE"


@click.command()
@click.argument("folder", type=PATH, default=Path())
@click.option(
    "--only", "parts", multiple=True, type=click.Choice(PARTS), help="Write this part alone (repeatable; default: all)."
)
@click.option(
    "--min-score", type=click.FloatRange(0, 100), default=60, show_default=True, help="The gate to begin with."
)
def init(folder: Path, parts: tuple[str, ...], min_score: float) -> None:
    """Set the repository in FOLDER up: configuration, a criterion of your own, and a workflow for GitHub.

    Written are pytest.ini (rubric and one gate), conftest.py (an example criterion) and
    .github/workflows/sciagent.yml (tests the runs below runs/ in each pull request). Nothing is overwritten: where one
    of them is there already, nothing is written at all. Where pytest is configured already, the lines to add are told.

    \b
    Examples:
        sciagent init
        sciagent init my-repository --only workflow
    """
    from ..collection.paths import enclosing_run
    from ..ledger.store import write_atomically
    from .settings import find_settings

    run = enclosing_run(folder.absolute())
    if run is not None:
        raise SciagentError("is a frozen run, which nothing may be added to: name the repository above it", path=run)
    chosen = parts or PARTS
    texts = {folder / name: _template(part) for part, name in _FILES.items() if part in chosen}
    config = _template("config").replace("@MIN_SCORE@", f"{min_score:g}")
    settings = find_settings(folder.absolute())
    configured = settings.path if settings.folder == folder.absolute() else None
    if "config" in chosen and configured is None:
        texts[folder / "pytest.ini"] = config
    there = [path for path in texts if path.exists() or path.is_symlink()]
    if there:
        left = [part for part in PARTS if part == "config" or folder / _FILES[part] not in there]
        advice = "".join(f" --only {part}" for part in left)
        raise SciagentError(f"is there already, and nothing was written: move it away, or give{advice}", path=there[0])
    for path, text in sorted(texts.items()):
        write_atomically(path, text)
        click.echo(f"written: {path}")
    if "config" in chosen and configured is not None:
        click.echo(f"pytest is configured in {configured} already: add these to it yourself")
        for line in config.splitlines()[1:]:
            click.echo(f"    {_as_toml(line) if configured.suffix == '.toml' else line}")
    click.echo("next: freeze what your agent left, then test it")
    click.echo("    sciagent freeze work/ --task my_task --system my-agent -o runs/my-agent/my_task")
    click.echo("    pytest --sciagent-run=runs/")


def _as_toml(line: str) -> str:
    """A line of the configuration as it stands in a TOML file; the rubrics are a list there."""
    name, equals, value = line.partition(" = ")
    if not equals or name.startswith("#"):
        return line
    return f'{name} = ["{value}"]' if name == "sciagent_rubric" else f'{name} = "{value}"'


def _template(part: str) -> str:
    return Path(__file__).with_name("starters").joinpath(f"{part}.txt").read_text("utf-8")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes SHELL complete the commands, options and paths of sciagent.

    \b
    Examples:
        eval "$(sciagent completion bash)"                       # in ~/.bashrc
        eval "$(sciagent completion zsh)"                        # in ~/.zshrc
        sciagent completion fish > ~/.config/fish/completions/sciagent.fish
    """
    from click.shell_completion import get_completion_class

    made: Any = get_completion_class(shell)
    click.echo(made(context.find_root().command, {}, "sciagent", COMPLETION_VARIABLE).source())

"""The `sciagent` command. Bad input ends in one plain message and exit code 4."""

from __future__ import annotations

import sys

import click

from ..errors import SciagentError
from ..text import clean

EXIT_BAD_INPUT = 4
EXIT_INTERRUPTED = 2
EXIT_CODES = {
    0: "done, and nothing was found wrong",
    1: "something was found wrong, or is not done yet: the help of the command says what",
    EXIT_INTERRUPTED: "interrupted; what was done by then is kept",
    EXIT_BAD_INPUT: "bad input; one message says what to do",
    10: "undecided, or waiting for answers: the help of the command says for which",
}
"""What the exit code of a command means: told here, and so in the help and on the pages."""
_NAMES = {"import": "import_"}
"""Commands whose names Python keeps for itself."""


class Commands(click.Group):
    """Finds the commands in their modules on first use, so that each call loads only its own."""

    _where = {
        "init": "start",
        "task": "task",
        "induce": "induce",
        "rubric": "rubric",
        "assemble": "workspace",
        "run": "run",
        "release": "run",
        "revise": "revise",
        "experiment": "experiment",
        "guide": "guide",
        "audit": "audit",
        "probe": "probe",
        "freeze": "runs",
        "verify": "runs",
        "seal": "runs",
        "schema": "runs",
        "ledger": "ledger",
        "batch": "batch",
        "compare": "compare",
        "calibrate": "calibrate",
        "ensemble": "ensemble",
        "examples": "examples",
        "sensitivity": "sensitivity",
        "stability": "stability",
        "label": "label",
        "ci": "ci",
        "export": "export",
        "selfcheck": "selfcheck",
        "plan": "plan",
        "doctor": "doctor",
        "import": "imports",
        "completion": "start",
    }

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self._where)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        from importlib import import_module

        if name not in self._where:
            return None
        command: click.Command = getattr(import_module(f".{self._where[name]}", __name__), _NAMES.get(name, name))
        return command


LESSON = """\
sciagent {version}: frozen runs of research agents, tested criterion by criterion by pytest.

Begin a repository             sciagent init
Make a task, or take one       sciagent task new tasks/my_task --help
Hand it to an agent            sciagent assemble my_task work/
Freeze what the agent left     sciagent freeze work/ --task my_task --system my-agent -o runs/my-agent/my_task
Test the runs                  pytest --sciagent-run=runs/
Read the report                pytest --sciagent-run=runs/ --sciagent-html=report.html
Is all there that it takes?    sciagent doctor runs/
Which system is better?        sciagent compare runs/

Every command:  sciagent --help        One of them, with examples:  sciagent freeze --help
"""


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExit codes:\n" + "\n".join(f"  {code:<3} {meaning}" for code, meaning in EXIT_CODES.items()),
)
@click.version_option(package_name="pytest-sciagent")
@click.pass_context
def cli(context: click.Context) -> None:
    """Make tasks, run research agents on them, freeze what they leave, look after verdicts. Testing is pytest's work:

    \b
        pytest --sciagent-run=runs/ --tb=no -rN

    Begin with `sciagent init`. Called without a command, sciagent tells the way from there in eight lines.
    """
    if context.invoked_subcommand is None:
        from importlib.metadata import version

        click.echo(LESSON.format(version=version("pytest-sciagent")), nl=False)


def main() -> None:
    """Entry point of the `sciagent` command."""
    try:
        result = cli.main(standalone_mode=False)
    except SciagentError as error:
        click.echo(f"sciagent: {clean(str(error))}", err=True)
        sys.exit(EXIT_BAD_INPUT)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("sciagent: interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_BAD_INPUT)
    except OSError as error:
        if error.filename is None:  # nothing that the user named
            raise
        click.echo(f"sciagent: {clean(str(error.filename))}: {error.strerror}", err=True)
        sys.exit(EXIT_BAD_INPUT)
    sys.exit(result if isinstance(result, int) else 0)

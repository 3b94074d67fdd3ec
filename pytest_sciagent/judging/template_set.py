"""Sets of prompt templates: their sources by name, the digest of what is fixed in a prompt, the fence of material."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache, cached_property, partial
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

from ..digest import sha256_bytes, sha256_json
from ..text import clean, one_line

if TYPE_CHECKING:
    import jinja2

_NO_MARK = "[...]"


@cache
def template_source(package: str, name: str) -> str:
    """The source of the template `name` that `package` carries."""
    return resources.files(package).joinpath("templates", f"{name}.j2").read_text(encoding="utf-8")


def fence(nonce: str, label: str, text: str) -> str:
    """`text`, which nobody vouches for, between two marks that it can't hold itself."""
    # A random mark, new for each finding and session, can't be closed by text that was written before. Were it in there
    # all the same, it is replaced, not cut out: what stood around it could join to a new one.
    head, body = (part.replace(nonce, _NO_MARK) for part in (one_line(label, 200), clean(text)))
    return f"<<<DATA {nonce} {head}\n{body}\nDATA {nonce}>>>"


class TemplateSet(ABC):
    """The words of prompts of several kinds: a package's templates, each replaced by the user's own where there is one.

    package: where the templates lie, in a folder `templates`. parts: the templates that a prompt of each kind is made
    of. own: the user's sources by name.
    """

    package: ClassVar[str]
    parts: ClassVar[Mapping[str, tuple[str, ...]]]

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self.own = dict(own or {})
        self._digests: dict[str, str] = {}

    @abstractmethod
    def answer_schema(self, kind: str) -> dict[str, Any]:
        """The JSON schema of the answer to a prompt of this kind."""

    def source(self, name: str) -> str:
        """The source of the template `name`."""
        return self.own[name] if name in self.own else template_source(self.package, name)

    def fixed(self, kind: str) -> dict[str, Any]:
        """Everything fixed in the prompts of one kind: the templates, by their digests, and the form of the answer."""
        sources = {name: sha256_bytes(self.source(name).encode()) for name in self.parts[kind]}
        return {"templates": sources, "answer": self.answer_schema(kind)}

    def digest(self, kind: str) -> str:
        """The digest of what is fixed in the prompts of one kind."""
        if kind not in self._digests:
            self._digests[kind] = sha256_json(self.fixed(kind))
        return self._digests[kind]

    @cached_property
    def environment(self) -> jinja2.Environment:
        """What renders the templates. Unknown names are errors; a user's templates reach no Python through it."""
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        make = ImmutableSandboxedEnvironment if self.own else jinja2.Environment
        # Prompts are plain text, so nothing is escaped: material is cleaned and fenced instead.
        return make(
            loader=jinja2.FunctionLoader(self.source),
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            keep_trailing_newline=False,
            trim_blocks=True,
        )

    def render(self, name: str, nonce: str, **values: Any) -> str:
        """The text of one template."""
        template = self.environment.get_template(name)
        return template.render(nonce=nonce, fence=partial(fence, nonce), **values).strip() + "\n"

    def system(self, nonce: str) -> str:
        """The standing instructions."""
        return self.render("system", nonce)

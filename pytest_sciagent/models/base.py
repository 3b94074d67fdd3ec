"""What all models share: unknown keys refused, values frozen, no NaN."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=120)]
"""An identifier that is safe as a file name and in a pytest node id."""
Date = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Size = Annotated[int, Field(ge=0)]


class Model(BaseModel):
    """Base of every model: frozen, strict about keys, finite numbers only."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, allow_inf_nan=False)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data, keys by their published names."""
        return self.model_dump(mode="json", by_alias=True)

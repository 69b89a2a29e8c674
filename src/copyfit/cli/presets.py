"""`copyfit presets`: which platforms' budgets can be named."""

from typing import Annotated

import typer

from copyfit.cli import talk


def presets(
    as_json: Annotated[bool, typer.Option("--json", help="Write a JSON object for each.")] = False,
) -> None:
    """List the budgets of real platforms."""
    from copyfit import presets as known

    for preset in known():
        if as_json:
            talk.put_json(preset._asdict())
        else:
            least = f"{preset.minimum}-" if preset.minimum is not None else ""
            budget = f"{preset.mode} {least}{preset.limit} {preset.unit}"
            talk.put(f"{preset.name:<28}{budget:<24}{preset.note}")

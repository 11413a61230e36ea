"""Keeps the proofs of commands, for the page of operation to show."""

from collections.abc import Mapping
from pathlib import Path

import click

from projections.operation.proofs import Proof, keep_proof

BY = "catalog-replay"
"""The caller in proofs of commands."""


def keep(directory: Path, proofs: Mapping[str, Proof]) -> None:
    """Put proofs in the place of the last ones; where that cannot be, say so and go on."""
    try:
        for name, proof in proofs.items():
            keep_proof(directory, name, proof)
    except OSError as error:
        click.echo(f"the page of operation will not show this proof: {error}", err=True)

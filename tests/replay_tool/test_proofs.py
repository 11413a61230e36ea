"""Proofs of commands are kept as the last proof, which the page of operation shows."""

from pathlib import Path

from click.testing import CliRunner, Result

from projections.operation.proofs import read_proofs
from replay_tool.commands import main
from tests.projections.read_models import other_code
from tests.replay_tool.conftest import edit

Kept = dict[str, tuple[str, int, int, int, int | None]]


def run(data: Path, *arguments: str, code: int = 0) -> Result:
    """Return what a command says that ends with an exit code."""
    result = CliRunner().invoke(main, [*arguments, "--data", str(data)])
    assert result.exit_code == code, result.output
    return result


def kept(data: Path) -> Kept:
    """Verdict, position, what was compared and found, and the generation, of each last proof."""
    proofs = read_proofs(data)
    assert {each.by for each in proofs.values()} <= {"catalog-replay"}
    return {
        name: (each.verdict, each.position, each.compared, each.found, each.generation)
        for name, each in proofs.items()
    }


def test_verify_keeps_a_proof_of_each_part(data: Path) -> None:
    run(data, "verify", "entities")
    assert kept(data) == {"entities": ("equal", 8, 4, 0, 1)}

    edit(data / "entities-1.db", "DELETE FROM entities WHERE name = 'orders'")
    run(data, "verify", code=1)

    proofs = kept(data)
    assert proofs["log"] == ("equal", 8, 8, 0, None)
    assert proofs["search"] == ("equal", 8, 4, 0, 1)
    verdict, position, _, found, generation = proofs["entities"]
    assert (verdict, position, found > 0, generation) == ("differs", 8, True, 1)


def test_sample_is_no_proof(data: Path) -> None:
    run(data, "verify", "--sample", "2")

    assert kept(data) == {}


def test_rebuild_keeps_the_proof_of_what_is_live_afterwards(data: Path) -> None:
    run(data, "rebuild", "search")
    assert kept(data) == {"search": ("equal", 8, 4, 0, 1)}
    run(data, "rebuild", "search", "--force")
    assert kept(data) == {"search": ("equal", 8, 4, 0, 2)}

    # Rows of other code are no rows for this one.
    with other_code():
        run(data, "verify", "entities", code=1)
        assert kept(data)["entities"] == ("differs", 0, 0, 0, None)
        run(data, "rebuild", "entities")
        assert kept(data)["entities"] == ("equal", 8, 4, 0, 2)


def test_proof_that_cannot_be_kept_is_told_and_the_command_goes_on(data: Path) -> None:
    (data / "proof-search.json").mkdir()

    assert "the page of operation will not show this proof" in run(data, "verify", "search").stderr

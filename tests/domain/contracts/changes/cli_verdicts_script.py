"""The program by which the Python of datacontract-cli grades pairs of documents."""

TEXT = """
import json
import sys
import tempfile
from pathlib import Path

from datacontract.data_contract import DataContract
from datacontract.model.exceptions import DataContractException

LEVELS = ["info", "warning", "error"]


def verdict(contracts: list[DataContract], perspective: str) -> str:
    # Refused is a document that is not valid.
    try:
        found = contracts[0].breaking(contracts[1], perspective=perspective)
    except DataContractException:
        return "refused"
    return max((entry.level.value for entry in found.entries), key=LEVELS.index, default="info")


with tempfile.TemporaryDirectory() as directory:
    for line in sys.stdin:
        contracts = []
        for place, document in enumerate(json.loads(line)):
            path = Path(directory, f"{place}.odcs.yaml")
            path.write_text(json.dumps(document))
            contracts.append(DataContract(data_contract_file=str(path), inline_references=False))
        verdicts = {each: verdict(contracts, each) for each in ("consumer", "producer")}
        print(json.dumps(verdicts), flush=True)
"""

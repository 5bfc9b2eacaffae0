"""Run inside the environment of jevcompat: one mock a fault, all in this process.

Prints a JSON object from fault ("" for none) to address, then serves until its input ends.
Arguments: faults that want a key, which all get the key "right".
"""

import json
import sys

from jevcompat.mock import FAULTS, MockConfig, Running

keyed = set(sys.argv[1:])
running = {
    fault: Running(
        MockConfig(key="right" if fault in keyed else None, faults=frozenset([fault] if fault else []))
    )
    for fault in ["", *FAULTS]
}
for mock in running.values():
    mock.__enter__()
print(json.dumps({fault: mock.url for fault, mock in running.items()}), flush=True)
sys.stdin.read()

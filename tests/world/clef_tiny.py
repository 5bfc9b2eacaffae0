"""A tiny random release of Clef (0.36M parameters; its picks mean nothing), in an environment with
torch and clef-finetune.

``python -m tests.world.clef_tiny FOLDER`` writes it; with a budget of padded tokens, it prints how
far probabilities of a batch lie from those of single requests.

``protocols.serve tests.world.clef_tiny:alone`` serves the release in CLEF_FOLDER with its own function
for one request, to compare with.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from protocols.clef_release import load_code


@cache
def _loaded() -> tuple[Any, Any, Any]:
    import torch

    folder = Path(os.environ["CLEF_FOLDER"])
    code = load_code(folder)
    return (code, *code.load_release_model(str(folder), device=torch.device("cpu"), dtype=torch.float32))


def alone(body: dict[str, Any]) -> dict[str, Any]:
    """The reply of the release's own ``systemone``."""
    code, model, processor = _loaded()
    reply: dict[str, Any] = code.systemone(model, processor, body, max_length=16384)
    return reply


def compare(folder: str, budget: int) -> float:
    """The largest difference, before any rounding."""
    from protocols.clef_release import Release, ReleaseSettings, Scored

    release = Release(
        ReleaseSettings(folder=folder, dtype="float32", device="cpu", max_length=16384, batch_tokens=budget)
    )
    asked = [
        {
            "model": "clef",
            "state": "s" * 3**i,
            "questions": {
                "choose": {
                    "type": "choice",
                    "instructions": "Which?",
                    "criteria": dict.fromkeys(f"option {j}" for j in range(2 + 3 * i)),
                },
                "yes": {"type": "noul", "instructions": "Is it?"},
                "level": {"type": "score", "instructions": "How?", "criteria": ["low", "high"]},
            },
        }
        for i in range(5)
    ]
    alone = [release.score([one])[0] for one in asked]
    furthest = 0.0
    for one, other in zip(alone, release.score(asked), strict=True):
        assert isinstance(one, Scored)
        assert isinstance(other, Scored)
        assert one.input_tokens == other.input_tokens
        for question, shares in one.probabilities.items():
            for option, share in shares.items():
                furthest = max(furthest, abs(share - other.probabilities[question][option]))
    return furthest


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(compare(sys.argv[1], int(sys.argv[2])))
    else:
        from clef_finetune.tiny import build_tiny_release

        build_tiny_release(sys.argv[1])

"""typesafe-sdk, the official client of the Jev protocol. Arguments: base address, options as JSON."""

import json
import sys

from typesafe_sdk import Choice, Noul, Score, TypeSafeClient

address, options = sys.argv[1], json.loads(sys.argv[2])
with TypeSafeClient(api_key="none", base_url=address, timeout=20) as client:
    reply = client.system_one(
        state="state",
        questions={
            "pick": Choice(instructions="Which?", criteria=dict.fromkeys(options)),
            "yes": Noul(instructions="Is it?"),
            "level": Score(instructions="How?", criteria=["low", "middle", "high"]),
        },
    )
    models = [model.name for model in client.models.list().models]
pick, level = reply.choices["pick"], reply.scores["level"]
print(
    json.dumps(
        {
            "choice": pick.choice,
            "confidence": pick.confidence,
            "probabilities": dict(pick.probabilities),
            "noul": reply.nouls["yes"].noul,
            "score": level.score,
            "model": reply.model,
            "models": models,
        }
    )
)

"""perplexityai, which posts System One bodies to /v1/decisions."""

import json
import sys

from perplexity import Perplexity

address, options = sys.argv[1], json.loads(sys.argv[2])
client = Perplexity(api_key="none", base_url=address)
reply = client.decisions.create(
    model="jev-latest",
    state="state",
    questions={
        "pick": {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)},
        "yes": {"type": "noul", "instructions": "Is it?"},
    },
)
pick = reply.answers["pick"]
print(
    json.dumps(
        {
            "choice": pick.choice,
            "confidence": pick.confidence,
            "probabilities": dict(pick.probabilities),
            "noul": reply.answers["yes"].noul,
            "model": reply.model,
        }
    )
)

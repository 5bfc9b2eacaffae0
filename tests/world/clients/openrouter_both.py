"""openrouter, which has two paths for decision models: /api/v1/systemone and /api/alpha/decisions."""

import json
import sys

from openrouter import OpenRouter

address, options = sys.argv[1], json.loads(sys.argv[2])
questions = {"pick": {"type": "choice", "instructions": "Which?", "criteria": dict.fromkeys(options)}}
found = []
with OpenRouter(api_key="none", server_url=f"{address}/api/v1") as client:
    found.append(client.system_one.create(model="jev-latest", state="state", questions=questions))
with OpenRouter(api_key="none") as client:
    found.append(
        client.alpha.decisions.create(
            model="jev-latest", state="state", questions=questions, server_url=address
        )
    )
for reply in found:
    pick = reply.answers["pick"]
    print(
        json.dumps(
            {
                "choice": pick.choice,
                "confidence": pick.confidence,
                "probabilities": dict(pick.probabilities),
                "model": reply.model,
            }
        )
    )

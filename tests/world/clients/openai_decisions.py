"""openai, the official client of OpenAI Decisions."""

import json
import sys

from openai import OpenAI

address, options = sys.argv[1], json.loads(sys.argv[2])
client = OpenAI(api_key="none", base_url=f"{address}/v1", max_retries=0)
reply = client.decisions.create(
    model="gpt-6-luna",
    input="state",
    questions=[
        {
            "type": "choice",
            "name": "pick",
            "instructions": "Which?",
            "choices": [{"value": option} for option in options],
        }
    ],
)
[pick] = reply.answers
print(
    json.dumps(
        {
            "choice": pick.choice,
            "confidence": pick.confidence,
            "probabilities": {entry.value: entry.probability for entry in pick.probabilities},
            "model": reply.model,
            "input_tokens": reply.usage.input_tokens,
        }
    )
)

"""pydantic-ai over the OpenAI shape, the strictest reader of replies that we know."""

import json
import sys
from enum import Enum

from pydantic import BaseModel, Field
from pydantic_ai import Agent
from pydantic_ai.models.openai_decisions import OpenAIDecisionsModel
from pydantic_ai.providers.openai import OpenAIProvider

address, options = sys.argv[1], json.loads(sys.argv[2])
Option = Enum("Option", {f"option_{i}": option for i, option in enumerate(options)}, type=str)


class Verdict(BaseModel):
    pick: Option = Field(description="Which?")


provider = OpenAIProvider(base_url=f"{address}/v1", api_key="none")
agent = Agent(OpenAIDecisionsModel("gpt-6-luna", provider=provider), output_type=Verdict)
print(json.dumps({"choice": agent.run_sync("state").output.pick.value}))

"""pydantic-ai over the System One shape: the fields of a model become questions."""

import json
import sys
from enum import Enum
from typing import Annotated

from pydantic import BaseModel, Field
from pydantic_ai import Agent
from pydantic_ai.models.system_one import SystemOneModel
from pydantic_ai.providers.system_one import SystemOneProvider

address, options = sys.argv[1], json.loads(sys.argv[2])
Option = Enum("Option", {f"option_{i}": option for i, option in enumerate(options)}, type=str)


class Verdict(BaseModel):
    pick: Option = Field(description="Which?")
    yes: Annotated[float, Field(ge=0, le=1, description="Is it?")]


provider = SystemOneProvider(base_url=address, api_key="none")
agent = Agent(SystemOneModel("jev-latest", provider=provider), output_type=Verdict)
result = agent.run_sync("state")
print(json.dumps({"choice": result.output.pick.value, "noul": result.output.yes}))

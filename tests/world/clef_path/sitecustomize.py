"""On PYTHONPATH of tests with torch: Python reads this file when it starts.

The index has no torchvision for a CPU build of torch, and the one it has fails on import, since it
registers operators with a library that is not there. Clef needs none of them: they are left out.
CLEF_PACKAGES adds the packages of the environment ``clef`` behind those of another interpreter.
"""

import os
import sys
import types

sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
if "CLEF_PACKAGES" in os.environ:
    sys.path.append(os.environ["CLEF_PACKAGES"])

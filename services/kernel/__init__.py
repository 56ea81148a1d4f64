"""The kernel: a library that every deployable builds on; never deployed alone, knows no business noun."""

import os

# Before grpc is first imported: its fork handlers crash children that are started beside its threads (engines, agents,
# tools), and nothing here forks without exec.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

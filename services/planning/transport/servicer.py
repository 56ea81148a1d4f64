"""PlanningService, put together."""

from __future__ import annotations

from services.planning.application.branching import Branching
from services.planning.application.comparing import Comparing
from services.planning.application.documents import Documents
from services.planning.application.driving import Driving
from services.planning.application.lateness import Lateness
from services.planning.application.objectives import Objectives
from services.planning.application.plans import Plans
from services.planning.application.ports import Reads
from services.planning.application.telling import Telling
from services.planning.transport.branches import BranchMethods
from services.planning.transport.documents import DocumentMethods
from services.planning.transport.plans import PlanMethods


class PlanningServicer(PlanMethods, DocumentMethods, BranchMethods):
    """Every RPC is in one of its parts."""

    def __init__(
        self,
        plans: Plans,
        objectives: Objectives,
        telling: Telling,
        lateness: Lateness,
        documents: Documents,
        branching: Branching,
        driving: Driving,
        comparing: Comparing,
        reads: Reads,
        page_key: bytes,
    ) -> None:
        PlanMethods.__init__(self, plans, objectives, telling, lateness, reads)
        DocumentMethods.__init__(self, documents, reads)
        BranchMethods.__init__(self, branching, driving, comparing, lateness, reads, page_key)

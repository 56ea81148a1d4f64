"""CoordinationService, put together from its parts."""

from __future__ import annotations

from services.coordination.application.cancelling import Cancelling
from services.coordination.application.collecting import Collecting
from services.coordination.application.injecting import Injecting
from services.coordination.application.noting import Noting
from services.coordination.application.registering import Registering
from services.coordination.application.reporting import Reporting
from services.coordination.application.roster import Roster
from services.coordination.application.spawning import Spawning
from services.coordination.application.statuses import Statuses
from services.coordination.application.thread_mode import ThreadMode
from services.coordination.application.waiting import Waiting
from services.coordination.transport.notes import NoteMethods
from services.coordination.transport.results import ResultMethods
from services.coordination.transport.rosters import RosterMethods
from services.coordination.transport.workers import WorkerMethods
from services.kernel.paging import PageTokens


class CoordinationServicer(RosterMethods, WorkerMethods, NoteMethods, ResultMethods):
    """Every method is in one of the parts. `key` signs page tokens."""

    def __init__(
        self,
        thread_mode: ThreadMode,
        registering: Registering,
        roster: Roster,
        spawning: Spawning,
        cancelling: Cancelling,
        statuses: Statuses,
        noting: Noting,
        collecting: Collecting,
        waiting: Waiting,
        reporting: Reporting,
        injecting: Injecting,
        key: bytes,
    ) -> None:
        RosterMethods.__init__(self, thread_mode, registering, roster, PageTokens(key, "workers"))
        WorkerMethods.__init__(self, spawning, cancelling, statuses, roster)
        NoteMethods.__init__(self, noting, PageTokens(key, "notes"))
        ResultMethods.__init__(self, collecting, waiting, reporting, injecting, roster, PageTokens(key, "results"))

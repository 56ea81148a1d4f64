"""Every limit on what users and agents may write into a thread, in one place. Lengths are code points."""

from __future__ import annotations

from typing import Final

TITLE_MAX: Final = 200
DESCRIPTION_MAX: Final = 20_000
FEEDBACK_MAX: Final = 4_000
"""Redirect feedback, clarification and edit texts, rejection and dismissal reasons, hand-off notes."""
RATIONALE_MAX: Final = 4_000
QUERY_MAX: Final = 200
"""Of a search."""
NAME_MAX: Final = 120
"""Names of actions, of sources, of models and tiers."""
RECIPIENT_MAX: Final = 200
CODE_MAX: Final = 64
"""Machine-readable codes of results and reasons."""

CONTEXT_ITEMS_MAX: Final = 200
ITEM_ID_MAX: Final = 128
ITEM_SOURCE_MAX: Final = 64
"""Of an item's source and of its type."""
ITEM_LABEL_MAX: Final = 500

DEPTH_MAX: Final = 32
"""Ancestors of a thread (section 0.4)."""
CHILDREN_MAX: Final = 10_000
"""Of one spawn."""
CLUSTERS_MAX: Final = 1_000
SCRAPE_ID_MAX: Final = 128

OPEN_PROPOSALS_MAX: Final = 100
"""Of one session: an agent that repeats itself must not fill the inbox."""

JSON_DEPTH_MAX: Final = 24
JSON_BYTES_MAX: Final = 64 * 1024
"""Canonical bytes of one JSON value: parameters, an item's payload, an inferred payload."""
JSON_INT_MAX: Final = 2**63 - 1
CONTEXT_BYTES_MAX: Final = 512 * 1024
"""Canonical bytes of all context items of one thread together, so that a card always fits one message
(PUB23).
"""

DEFER_HOURS_MAX: Final = 366 * 24
DEFER_HOURS_DEFAULT: Final = 24
"""Default of the universal action `thread_defer` (section 3.7)."""

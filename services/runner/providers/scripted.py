"""The scripted provider: guesses by the rules below, the same answer for the same task, offline and at once.

It is what a new installation runs with, and what tests and the demo rely on (design/threads.md §0.10).

Intent
    The newest thing that a person said (feedback, else clarification), after the title; else the title, and the first
    line of the description. Nothing to read: an empty answer.
Context
    The title, the description's first line, and the labels of the context items. Needs no further contexts.
Action, the first rule that fits
    1. the action that a redirect names (`target_action`)
    2. what a person said, newest first: “as a task”, “make it a task” … → task_create; a file name → file_append
       to that file; a URL → http_request
    3. the prior proposal, if one was sent back: the same action; a quote in the feedback is its new text, a method
       in capitals its new method; feedback that none of this understands is put behind the text, in brackets
    4. the matter's own text (title, description, context items): “create a task”, “remind me” … → task_create;
       a word such as append, add, write, note, record, log, save with a file name → file_append; a URL → http_request
    5. task_create
    A file name is a word (or a quote, with spaces) that ends in one of `reading.SUFFIXES`. `params` of redirects are
    kept unchanged, later ones over earlier ones, as far as the action's schema has them.
    An action that is not offered, or an http_request without a URL, is not proposed: a question is asked instead.
    Nothing to read: an empty answer.
Text of file_append
    A quote; else what follows `FILE:`; else, where the title names the file, the description, else the title without
    “append … to FILE”; where the description does, the same of its line, else its other lines, else the title.
Confidence 0.9, model `scripted`, tier `local_fast`, no cost. Risk low; http_request that may change something medium;
shell and actions that the rules do not know high.
Directives (`[[slow 2s]]`, `[[fail]]`, `[[empty]]`, `[[clarify: …]]` …): see `directives.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import Guess, InferenceTask, Target
from services.runner.providers.directives import Directives
from services.runner.providers.proposing import Choice, choose
from services.runner.providers.reading import fit
from services.runner.providers.words import Words, directives_of

CONFIDENCE: Final = 0.9
MODEL: Final = "scripted"
TIER: Final = "local_fast"
_TEXT_MOST: Final = 4_000


class Scripted:
    """Implements application.ports.Provider."""

    async def infer(self, task: InferenceTask) -> Guess:
        """The guess, after the directives have had their say."""
        told = directives_of(task, task.target)
        await asyncio.sleep(told.slow_seconds)
        if told.fail_attempts == -1:
            raise Failed(Code.PROVIDER_ERROR, "[[fail]]")
        if task.attempt <= told.fail_attempts:
            raise Failed(Code.PROVIDER_ERROR, f"[[fail {told.fail_attempts}]]", retryable=True)
        payload = {} if told.empty else _payload(task, Words.of(task), told)
        if not payload:
            return Guess({}, 0.0, MODEL, TIER)
        confidence = CONFIDENCE if told.confidence is None else told.confidence
        return Guess(payload, confidence, MODEL, TIER)


def _payload(task: InferenceTask, words: Words, told: Directives) -> Mapping[str, Any]:
    match task.target:
        case Target.INTENT:
            intent = _intent(words)
            return {"intent": intent} if intent else {}
        case Target.CONTEXT:
            return {"context": _context(task, words), "required_contexts": []}
        case Target.ACTION if told.question:
            return _question(told.question, "The matter says to ask.")
        case Target.ACTION if words.own or words.told or words.target_action or task.prior:
            return _proposal(task, choose(task, words), told)
        case Target.ACTION:
            return {}


def _intent(words: Words) -> str:
    saying = words.told[0] if words.told else next(iter(words.description.splitlines()), "")
    return fit(": ".join(part for part in (words.title, saying) if part), _TEXT_MOST)


def _context(task: InferenceTask, words: Words) -> str:
    labels = [item.label for item in task.items if item.label]
    noun = "item" if len(labels) == 1 else "items"
    came = f"It came with {len(labels)} {noun}: {', '.join(labels)}." if labels else "Nothing came with it."
    said = [words.title, next(iter(words.description.splitlines()), ""), *reversed(words.told)]
    return fit(" — ".join([*(part for part in said if part), came]), _TEXT_MOST)


def _question(question: str, why: str) -> Mapping[str, Any]:
    return {
        "kind": "clarification",
        "name": "",
        "parameters": {},
        "plan_summary": question,
        "text": question,
        "blocked_on": question,
        "rationale": why,
    }


def _proposal(task: InferenceTask, choice: Choice, told: Directives) -> Mapping[str, Any]:
    if task.offers and choice.name not in {offer.name for offer in task.offers}:
        return _question(f"{choice.name} is not available. What should be done instead?", choice.why)
    if choice.name == "http_request" and not choice.parameters["url"]:
        return _question("Which URL should be requested?", choice.why)
    risk = told.risk or _risk(choice)
    return {
        "kind": "standard",
        "name": choice.name,
        "parameters": choice.parameters,
        "plan_summary": choice.summary,
        "rationale": choice.why,
        "irreversibility": risk,
        "regret_potential": risk,
        "risk_amplifier": False,
    }


def _risk(choice: Choice) -> str:
    match choice.name:
        case "file_append" | "task_create":
            return "low"
        case "http_request":
            return "low" if choice.parameters.get("method") in ("GET", "HEAD") else "medium"
        case _:
            return "high"

"""Which action the scripted provider proposes, and with which parameters. Pure; the rules are in `scripted.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from services.runner.domain.task import InferenceTask, PriorProposal
from services.runner.providers import reading
from services.runner.providers.appending import APPENDING, text_to_append
from services.runner.providers.words import Words

AS_A_TASK: Final = frozenset(
    ["as a task", "a task instead", "task instead", "make it a task", "make a task", "create a task", "add a task",
     "new task", "todo", "to-do", "a to-do", "remind me"]
)  # fmt: skip
DEFAULT_FILE: Final = "notes.md"
_TEXT_MOST: Final = 65_536
_LINE_MOST: Final = 2_000


@dataclass(frozen=True, slots=True)
class Choice:
    """An action with parameters, what it would do, and why it was chosen."""

    name: str
    parameters: dict[str, Any]
    summary: str
    why: str


def choose(task: InferenceTask, words: Words) -> Choice:
    """The action that a person named; else what the newest words ask for; else the prior one, reworded; else what
    the matter's own text asks for; else a task."""
    name, why = _name(task, words)
    build = _BUILDERS.get(name, _named_only)
    parameters = build(words, task.prior)
    if task.prior is not None and not _heard(parameters, task.prior, words):
        parameters = _reworded(name, parameters, words)
    parameters |= _fitting(task, name, words.seeds)
    return Choice(name, parameters, _summary(name, parameters), why)


def _name(task: InferenceTask, words: Words) -> tuple[str, str]:
    if words.target_action:
        return words.target_action, f"{words.target_action} was asked for."
    for text in words.told:
        if (name := _asked_for(text, naming_is_enough=True)) is not None:
            return name, f"Told: “{reading.fit(text, 300)}”."
    if task.prior is not None:
        heard = f" Told: “{reading.fit(words.told[0], 300)}”." if words.told else ""
        return task.prior.name, f"The same action as before.{heard}"
    name = _asked_for(words.own, naming_is_enough=False)
    match name:
        case "file_append":
            return name, "The text asks to append and names a file."
        case "http_request":
            return name, "The text names a URL."
        case _:
            return "task_create", "The text names no file to append to and no URL, so it becomes a task."


def _asked_for(text: str, *, naming_is_enough: bool) -> str | None:
    """`as a task` beats a file name, a file name beats a URL. In feedback naming a file is enough, in the matter's own
    text a word such as “append” must stand with it."""
    if reading.says(text, AS_A_TASK):
        return "task_create"
    if any(reading.file_names(text)) and (naming_is_enough or reading.says(text, APPENDING)):
        return "file_append"
    return "http_request" if any(reading.urls(text)) else None


def _file_append(words: Words, prior: PriorProposal | None) -> dict[str, Any]:
    before = prior.parameters if prior is not None and prior.name == "file_append" else {}
    path = _first(reading.file_names, words.told) or before.get("path")
    path = path or next(reading.file_names(words.own), DEFAULT_FILE)
    text = _first_quote(words.told) or before.get("text") or text_to_append(words)
    return {"path": reading.fit(path, 1024), "text": reading.fit(text, _TEXT_MOST)}


def _task_create(words: Words, prior: PriorProposal | None) -> dict[str, Any]:
    before = prior.parameters if prior is not None and prior.name == "task_create" else {}
    text = _first_quote(words.told) or before.get("task_text") or words.title_or_any
    summary = before.get("summary") or " ".join([words.description, *_answers(words)]).strip()
    parameters = {
        "task_text": reading.fit(" ".join(text.split()), _LINE_MOST),
        "summary": reading.fit(summary, _LINE_MOST),
        "deadline_date": _first(lambda layer: filter(None, [reading.iso_date(layer)]), words.layers) or "",
    }
    return {key: value for key, value in parameters.items() if value}


def _answers(words: Words) -> list[str]:
    """What a person said, unless it only says that it should be a task."""
    return [text for text in reversed(words.told) if not reading.says(text, AS_A_TASK)]


def _http_request(words: Words, prior: PriorProposal | None) -> dict[str, Any]:
    before = prior.parameters if prior is not None and prior.name == "http_request" else {}
    url = _first(reading.urls, words.told) or before.get("url") or next(reading.urls(words.own), "")
    told_method = next(filter(None, map(reading.method, words.told)), None)
    method = told_method or before.get("method") or reading.method(words.own) or "GET"
    body = _first_quote(words.told) or before.get("body") or reading.quoted_text(words.own)
    parameters = {**before, "method": method, "url": reading.fit(url, 2048)}
    if method in ("POST", "PUT", "PATCH") and body:
        parameters["body"] = reading.fit(body, _TEXT_MOST)
    return parameters


def _shell(words: Words, prior: PriorProposal | None) -> dict[str, Any]:
    before = prior.parameters if prior is not None and prior.name == "shell" else {}
    command = _first_quote(words.told) or before.get("command") or reading.quoted_text(words.own)
    return {**before, "command": command or words.title_or_any}


def _named_only(_: Words, __: PriorProposal | None) -> dict[str, Any]:
    """An action that the rules do not know: its parameters are the seeds."""
    return {}


_BUILDERS: Final[dict[str, Callable[[Words, PriorProposal | None], dict[str, Any]]]] = {
    "file_append": _file_append,
    "task_create": _task_create,
    "http_request": _http_request,
    "shell": _shell,
}
_FREE_TEXT: Final = {"file_append": "text", "task_create": "task_text"}


def _heard(parameters: dict[str, Any], prior: PriorProposal, words: Words) -> bool:
    """Whether what was said changed something already, so that it need not be written into the text as well."""
    return not words.told or bool(words.seeds) or parameters != dict(prior.parameters)


def _reworded(name: str, parameters: dict[str, Any], words: Words) -> dict[str, Any]:
    """Feedback that no rule understands goes into the text in brackets: it is never lost silently."""
    field = _FREE_TEXT.get(name)
    if field is None or field not in parameters:
        return parameters
    most = _TEXT_MOST if field == "text" else _LINE_MOST
    return {**parameters, field: reading.fit(f"{parameters[field].rstrip()} ({words.told[0]})", most)}


def _fitting(task: InferenceTask, name: str, seeds: dict[str, Any]) -> dict[str, Any]:
    """The seeds that the action has parameters for; all of them where its schema is not known or open."""
    offer = next((offer for offer in task.offers if offer.name == name), None)
    if offer is None or offer.parameters.get("additionalProperties") is not False:
        return seeds
    known = offer.parameters.get("properties", {})
    return {key: value for key, value in seeds.items() if key in known}


def _summary(name: str, parameters: dict[str, Any]) -> str:
    match name:
        case "file_append":
            return f"Append to {parameters['path']}: {_short(parameters['text'])}"
        case "task_create":
            return f"Create the task “{_short(parameters['task_text'])}”"
        case "http_request":
            return f"{parameters['method']} {_short(parameters['url'])}"
        case "shell":
            return f"Run: {_short(parameters['command'])}"
        case _:
            return name


def _short(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= 80 else line[:79] + "…"


def _first(find: Callable[[str], Iterable[str]], texts: Iterable[str]) -> str | None:
    return next((found for text in texts for found in find(text)), None)


def _first_quote(texts: Iterable[str]) -> str | None:
    return next(filter(None, map(reading.quoted_text, texts)), None)

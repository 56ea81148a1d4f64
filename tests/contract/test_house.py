"""The house rules that no linter knows: deployables alone, migrations in line, reasons in one list."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from services.kernel import errors, principal
from treadle.coordination.v1 import error_reason_pb2 as coordination
from treadle.planning.v1 import error_reason_pb2 as planning
from treadle.streaming.v1 import error_reason_pb2 as streaming
from treadle.threads.v1 import error_reason_pb2 as threads

ROOT = Path(__file__).resolve().parents[2]
DEPLOYABLES = {
    "services.threads": ROOT / "services/threads",
    "services.coordination": ROOT / "services/coordination",
    "services.planning": ROOT / "services/planning",
    "services.streaming": ROOT / "services/streaming",
    "services.runner": ROOT / "services/runner",
    "gateway": ROOT / "gateway",
}
KERNEL_REASONS = {
    *("INVALID_PAGE_SIZE", "INVALID_PAGE_TOKEN", "INVALID_REQUEST_ID", "REQUEST_ID_REUSED", "ROLE_REQUIRED"),
    *("TOKEN_REQUIRED", "TOKEN_EXPIRED", "TOKEN_INVALID", "CONTENDED", "DATABASE_UNAVAILABLE", "DEADLINE_EXCEEDED"),
}
"""What any context may say, from services/kernel."""

_ALONE = """
import importlib, pkgutil, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        for other in {others!r}:
            if name == other or name.startswith(other + "."):
                raise ImportError(f"{{name}} is another deployable")
sys.meta_path.insert(0, Refuse())
package = importlib.import_module({package!r})
for module in pkgutil.walk_packages(package.__path__, {package!r} + "."):
    if ".migrations." not in module.name and not module.name.endswith("__main__") and ".console" not in module.name:
        importlib.import_module(module.name)
"""


@pytest.mark.parametrize("package", DEPLOYABLES)
def test_each_deployable_imports_with_the_others_missing(package: str) -> None:
    others = [*(name for name in DEPLOYABLES if name != package), "services.cli", "services.engines"]
    code = _ALONE.format(others=others, package=package)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("service", ["threads", "coordination", "planning", "streaming"])
def test_migrations_are_numbered_in_line_and_only_expand(service: str) -> None:
    files = sorted((ROOT / "services" / service / "migrations/versions").glob("[0-9]*.py"))
    assert files
    for number, file in enumerate(files, start=1):
        values = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(file.read_text()).body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            if node.targets[0].id in ("revision", "down_revision")
        }
        assert file.name.startswith(f"{number:04d}_")
        assert values["revision"] == f"{number:04d}"
        assert values["down_revision"] == (f"{number - 1:04d}" if number > 1 else None)
        if number > 1:
            contracting = re.search(
                r"DROP (TABLE|COLUMN)|RENAME|ALTER COLUMN \w+ (SET NOT NULL|TYPE)", file.read_text()
            )
            assert contracting is None, f"{file.name} breaks code that still runs: {contracting}"


@pytest.mark.parametrize(
    ("service", "listed"),
    [("threads", threads), ("streaming", streaming), ("coordination", coordination), ("planning", planning)],
)
def test_every_reason_that_the_code_gives_is_listed_in_the_protos(service: str, listed: object) -> None:
    known = {name.removeprefix("ERROR_REASON_") for name in listed.ErrorReason.DESCRIPTOR.values_by_name}  # type: ignore[attr-defined]
    given = {reason for file in (ROOT / "services" / service).rglob("*.py") for reason in _reasons(file)}
    assert given - known - KERNEL_REASONS == set()


def _reasons(file: Path) -> set[str]:
    """First arguments of calls that make a refusal: UPPER_SNAKE literals."""
    refusals = {name for name in dir(errors) if name[0].isupper()}
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            value = node.args[0].value
            if name in refusals and isinstance(value, str) and re.fullmatch(r"[A-Z][A-Z0-9_]+", value):
                found.add(value)
    return found


def test_roles_are_those_of_the_design() -> None:
    assert {"viewer", "reviewer", "agent", "runner", "admin"} == principal.ROLES


@pytest.mark.parametrize("name", ["run", "test", "dev", "node"])
def test_locks_name_released_packages_only(name: str) -> None:
    """No address, no folder of one machine: each line is a name and a version, and perhaps a marker."""
    for line in (ROOT / "requirements" / f"{name}.txt").read_text().splitlines():
        named = line.partition("#")[0].partition(" ;")[0].strip()
        assert not named or re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+", named), line

"""Cleaning a source up: one line of a file, and nothing else of it (design/threads.md, section 3.10)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runner.actions.append_lines import append_lines
from services.runner.actions.files_folder import FilesFolder
from services.runner.cleanup.file_line import FileLine
from services.runner.cleanup.lines import without_first
from services.runner.cleanup.task_line import TaskLine
from services.runner.domain.failure import Code, Failed


async def clean(root: Path, path: str, line: str) -> bool:
    """Removes a line of a note."""
    return await FileLine(FilesFolder(root)).clean({"path": path, "line_text": line})


async def test_only_the_first_line_that_matches_trimmed_is_removed(tmp_path: Path) -> None:
    note = tmp_path / "2031" / "note.md"
    note.parent.mkdir()
    note.write_bytes(b"# Day\r\n  - call  \r\n- call\n\xff raw\n- call")
    note.chmod(0o640)
    assert await clean(tmp_path, "2031/note.md", "- call")
    assert note.read_bytes() == b"# Day\r\n- call\n\xff raw\n- call"
    assert note.stat().st_mode & 0o777 == 0o640
    assert os.listdir(note.parent) == ["note.md"]


async def test_a_line_that_is_gone_is_a_success_and_the_file_is_untouched(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("one\n")
    before = (tmp_path / "note.md").stat()
    assert not await clean(tmp_path, "note.md", "two")
    after = (tmp_path / "note.md").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing.md", Code.NOT_READABLE),
        ("no/such.md", Code.NOT_READABLE),
        ("../out.md", Code.PATH_REFUSED),
        ("/etc/passwd", Code.PATH_REFUSED),
        ("link.md", Code.PATH_REFUSED),
        ("folder", Code.PATH_REFUSED),
    ],
)
async def test_what_cannot_be_read_is_a_failure_and_never_gone(tmp_path: Path, path: str, code: Code) -> None:
    root = tmp_path / "files"
    (root / "folder").mkdir(parents=True)
    (tmp_path / "out.md").write_text("line\n")
    (root / "link.md").symlink_to(tmp_path / "out.md")
    with pytest.raises(Failed) as failed:
        await clean(root, path, "line")
    assert failed.value.code is code
    assert (tmp_path / "out.md").read_text() == "line\n"


@pytest.mark.parametrize("parameters", [{}, {"path": "a.md"}, {"path": "a.md", "line_text": "  "}, {"path": 1}])
async def test_parameters_that_cannot_be_read_are_refused(tmp_path: Path, parameters: dict[str, object]) -> None:
    with pytest.raises(Failed) as failed:
        await FileLine(FilesFolder(tmp_path)).clean(parameters)
    assert failed.value.code is Code.INVALID_PARAMETERS


async def test_a_task_goes_with_what_is_written_below_it(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.md"
    tasks.write_text("- [ ] call\n  when it is done\n- [ ] call\n  again\n- [ ] write\n")
    assert await TaskLine(FilesFolder(tmp_path)).clean({"line_text": "- [ ] call"})
    assert tasks.read_text() == "- [ ] call\n  again\n- [ ] write\n"


async def test_lines_that_are_appended_meanwhile_are_not_lost(tmp_path: Path) -> None:
    folder = FilesFolder(tmp_path)
    (tmp_path / "note.md").write_text("".join(f"old {number}\n" for number in range(20)))
    removals = [FileLine(folder).clean({"path": "note.md", "line_text": f"old {number}"}) for number in range(20)]
    appends = [append_lines(folder, "note.md", f"new {number}") for number in range(20)]
    await asyncio.gather(*removals, *appends)
    left = (tmp_path / "note.md").read_text().split("\n")[:-1]
    assert sorted(left) == sorted(f"new {number}" for number in range(20))


@given(st.lists(st.sampled_from([b"a", b" a ", b"b", b"", b"\xff", b"a\r"])), st.sampled_from(["a", "b", "c"]))
def test_the_rest_is_the_same_byte_for_byte(parts: list[bytes], line: str) -> None:
    content = b"\n".join(parts)
    trimmed = [part.decode("utf-8", "replace").strip() for part in content.split(b"\n")]
    if line not in trimmed:
        assert without_first(content, line) is None
        return
    at = trimmed.index(line)
    kept = [part + b"\n" for part in content.split(b"\n")]
    kept[-1] = kept[-1][:-1]
    assert without_first(content, line) == b"".join(kept[:at] + kept[at + 1 :])

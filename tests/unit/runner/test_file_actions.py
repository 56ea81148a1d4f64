# ruff: noqa: ASYNC240 (a test may wait for its own small files)
"""file_append and task_create on a real folder: what they write, and every way out of the folder that they refuse."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.runner.actions.file_append import FileAppend
from services.runner.actions.files_folder import FilesFolder
from services.runner.actions.task_create import TaskCreate
from services.runner.domain.failure import Code, Failed
from tests.unit.runner.tasks import execute


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "files"


async def append(root: Path, path: str, text: str) -> None:
    await FileAppend(FilesFolder(root)).execute(execute("file_append", {"path": path, "text": text}))


async def refusal(root: Path, path: str, text: str = "x") -> Code:
    with pytest.raises(Failed) as failed:
        await append(root, path, text)
    return failed.value.code


async def test_appends_whole_lines_and_makes_what_is_missing(root: Path) -> None:
    await append(root, "a/b/größe ✓.md", "eins")
    await append(root, "a/b/größe ✓.md", "zwei\n")

    assert (root / "a/b/größe ✓.md").read_text() == "eins\nzwei\n"


@pytest.mark.parametrize(
    "path",
    ["/etc/x.md", "../x.md", "a/../../x.md", "..", ".", "", "a//b.md", "./x.md", "a/", "~/x.md", "a\\b.md", "x\n.md",
     "x\0.md", " x.md", "x.md ", "a/ /b.md", "\ud83d.md", "n" * 300],
)  # fmt: skip
async def test_refuses_every_path_that_is_not_plainly_below(root: Path, path: str) -> None:
    assert await refusal(root, path) is Code.PATH_REFUSED
    assert not root.exists() or list(root.rglob("*")) == []


async def test_refuses_links_wherever_they_are_in_the_path(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("kept")
    root.mkdir()
    (root / "folder").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "x.md")
    (root / "dangling.md").symlink_to(outside / "new.md")

    for path in ("folder/x.md", "folder/new.md", "file.md", "dangling.md"):
        assert await refusal(root, path) is Code.PATH_REFUSED

    assert [(p.name, p.read_text()) for p in outside.iterdir()] == [("x.md", "kept")]


async def test_refuses_what_is_no_regular_file_without_waiting(root: Path) -> None:
    root.mkdir()
    os.mkfifo(root / "pipe.md")
    (root / "folder.md").mkdir()

    assert await refusal(root, "pipe.md") is Code.PATH_REFUSED
    assert await refusal(root, "folder.md") is Code.PATH_REFUSED


async def test_a_link_that_appears_in_a_race_never_leads_out(root: Path, tmp_path: Path) -> None:
    """A thread swaps folder and link all the time: each append lands below the root or is refused."""
    outside = tmp_path / "outside"
    outside.mkdir()
    root.mkdir()
    stop = threading.Event()

    def swap() -> None:
        steps = (
            lambda: (root / "d").mkdir(),
            lambda: (root / "d").rename(root / f"old{os.urandom(4).hex()}"),
            lambda: (root / "d").symlink_to(outside),
            lambda: (root / "d").unlink(),
        )
        while not stop.is_set():
            for step in steps:
                with contextlib.suppress(OSError):
                    step()

    swapper = threading.Thread(target=swap)
    swapper.start()
    folder = FilesFolder(root)
    try:
        for _ in range(500):
            try:
                folder.append("d/x.md", b"x\n")
            except Failed as failed:
                assert failed.code in (Code.PATH_REFUSED, Code.ACTION_FAILED)  # noqa: PT017
    finally:
        stop.set()
        swapper.join()

    assert list(outside.iterdir()) == []


async def test_concurrent_appends_lose_and_mix_nothing(root: Path) -> None:
    lines = [f"{n}:" + "y" * 3000 for n in range(60)]

    await asyncio.gather(*(append(root, "log.txt", line) for line in lines))

    assert sorted((root / "log.txt").read_text().splitlines()) == sorted(lines)


async def test_a_file_that_somebody_locks_is_busy_not_waited_for(root: Path) -> None:
    await append(root, "x.md", "one")
    with (root / "x.md").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Failed) as failed:
            FilesFolder(root).append("x.md", b"two\n")

    assert failed.value.code is Code.FILE_BUSY


async def test_a_file_never_grows_past_its_limit(root: Path) -> None:
    folder = FilesFolder(root, most_file_bytes=10)
    folder.append("x.md", b"12345678\n")

    with pytest.raises(Failed) as failed:
        folder.append("x.md", b"90\n")

    assert failed.value.code is Code.TOO_LARGE
    assert (root / "x.md").read_bytes() == b"12345678\n"


async def test_text_that_is_too_large_or_not_text_is_refused(root: Path) -> None:
    assert await refusal(root, "x.md", "😀" * 17_000) is Code.TOO_LARGE
    assert await refusal(root, "x.md", "x\ud83dy") is Code.INVALID_PARAMETERS
    assert not (root / "x.md").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield mount
    subprocess.run(["umount", "-l", mount], check=True)


async def test_a_full_disk_is_told_and_leaves_the_file_as_it_was(small_disk: Path) -> None:
    await append(small_disk, "x.md", "a" * 50_000)

    assert await refusal(small_disk, "x.md", "b" * 40_000) is Code.DISK_FULL
    assert (small_disk / "x.md").read_text() == "a" * 50_000 + "\n"


async def test_a_root_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert await refusal(tmp_path / "file" / "files", "x.md") is Code.PATH_REFUSED


async def test_a_cancel_during_the_write_still_tells_the_truth(root: Path) -> None:
    """The bytes are there, so the action answers that they are."""

    class Slow(FilesFolder):
        def append(self, path: str, data: bytes):  # type: ignore[no-untyped-def]
            started.set()
            release.wait(5)
            return super().append(path, data)

    started, release = threading.Event(), threading.Event()
    action = FileAppend(Slow(root))
    writing = asyncio.create_task(action.execute(execute("file_append", {"path": "x.md", "text": "x"})))
    await asyncio.to_thread(started.wait, 5)
    writing.cancel()
    await asyncio.sleep(0)
    release.set()

    assert (await writing)["bytes"] == 2
    assert (root / "x.md").read_text() == "x\n"


async def test_a_task_is_one_list_item_whatever_its_text_holds(root: Path) -> None:
    create = TaskCreate(FilesFolder(root))

    await create.execute(execute("task_create", {"task_text": "Call the weaver\n- [x] forged"}))
    await create.execute(
        execute(
            "task_create",
            {
                "task_text": "Oil it",
                "summary": "Before\nwinter",
                "urgency": "high",
                "project": "loom",
                "deadline_date": "2031-05-04",
            },
        )
    )

    assert (root / "tasks.md").read_text().splitlines() == [
        "- [ ] Call the weaver - [x] forged",
        "- [ ] Oil it (loom, high, due 2031-05-04)",
        "  Before winter",
    ]

"""Writes the Python stubs (protos/gen) and the descriptor set that buf lints. Run by `make protos`.

Third-party protos come from the installed googleapis-common-protos; nothing of theirs is copied into the tree.
"""

from __future__ import annotations

import importlib.resources
import os
import shutil
import sys
import tempfile
from pathlib import Path

from google.api import annotations_pb2
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
GEN = HERE / "gen"
STUBS = ("--python_out=", "--mypy_out=quiet:", "--grpc_python_out=", "--mypy_grpc_out=quiet:")


def main() -> int:
    """Generates everything anew, so that a removed proto leaves no stub behind."""
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    google_api = Path(annotations_pb2.__file__).parents[2]
    sources = sorted(str(path.relative_to(HERE)) for path in (HERE / "treadle").rglob("*.proto"))
    made = Path(tempfile.mkdtemp(dir=HERE, prefix="gen-"))
    # protoc looks its plugins up on PATH; they are installed beside this interpreter.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    arguments = ["protoc", f"-I{HERE}", f"-I{google_api}", f"-I{well_known}"]
    arguments += [f"{option}{made}" for option in STUBS]
    # Inside the package, so that it is packed into the wheel: the OpenAPI document takes its words from it.
    (made / "treadle").mkdir()
    arguments += [
        f"--descriptor_set_out={made / 'treadle' / 'treadle.binpb'}",
        "--include_imports",
        "--include_source_info",
    ]
    code = int(protoc.main([*arguments, *sources]))
    for folder in {path.parent for path in made.rglob("*_pb2.py")}:
        (folder / "py.typed").touch()
    made.chmod(0o755)
    if code == 0:
        # Swapped when complete: what imports the stubs meanwhile finds the old ones.
        shutil.rmtree(GEN, ignore_errors=True)
        made.rename(GEN)
    else:
        shutil.rmtree(made)
    return code


if __name__ == "__main__":
    sys.exit(main())

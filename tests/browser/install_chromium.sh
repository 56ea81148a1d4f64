#!/usr/bin/env bash
# Debian's Chromium for the browser tests: there already, installed when root, else said aloud.
# Without it the browser tests fail where CI=true and are skipped, with this reason, elsewhere.
set -u
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing chromium for the browser tests"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null && exit 0
fi
echo "no Chromium: the browser tests cannot run here (apt-get install chromium)" >&2
[ "${CI:-}" = true ] && exit 1
exit 0

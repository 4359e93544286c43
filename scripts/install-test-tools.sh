#!/bin/sh
# Installs the real programs that tests and benchmarks talk to (Debian and Ubuntu): Prometheus with promtool,
# Alertmanager with amtool, VictoriaMetrics, openssl. Does nothing when all are there. Needs root or sudo.
set -eu

missing=""
for pair in prometheus:prometheus promtool:prometheus prometheus-alertmanager:prometheus-alertmanager \
  amtool:prometheus-alertmanager victoria-metrics:victoria-metrics openssl:openssl; do
  command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair#*:}"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "missing:$missing; this script knows apt-get only: install them by hand and put them on PATH" >&2
  exit 1
fi
root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || { echo "missing:$missing; run as root: apt-get install$missing" >&2; exit 1; }
  root="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$root apt-get install -y -qq --no-install-recommends $missing >&2

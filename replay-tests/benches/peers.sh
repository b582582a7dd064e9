#!/usr/bin/env bash
# Approval round trips of other libraries beside ours, in turn, several rounds.
#
#   replay-tests/benches/peers.sh FOLDER [ROUNDS] [CYCLES]
#
# FOLDER holds the scripts `bench_<peer>.py` and what they share; docs/bench-peers.md says what
# each does. Needs python3 with venv and a package index; everything is made under target/peers.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

readonly folder=${1:?the folder of the scripts} rounds=${2:-3} cycles=${3:-200}
readonly place=target/peers python=target/peers/venv/bin/python
readonly packages=(
  langgraph==1.2.24 langgraph-checkpoint-sqlite==3.1.2 pydantic-ai-slim==2.68.0
  openai-agents==0.24.0 dbos==3.4.0 'psycopg[binary]==3.3.9'
)
readonly peers=(sqlite_floor langgraph pydantic_ai openai_agents dbos)

install() {
  mkdir -p "$place"
  [[ -x $python ]] || python3 -m venv "$place/venv"
  "$python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
}

ours() {
  cargo bench --quiet --locked -p placet-replay --features bench --bench approval -- "$@"
}

# One peer into the lines of this round; each data file is in a folder that is removed.
peer() {
  local name=$1 count=$cycles scratch
  # On SQLite DBOS polls once a second, twice a cycle.
  [[ $name != dbos ]] || count=4
  scratch=$(mktemp -d)
  "$python" "$folder/bench_$name.py" --cycles "$count" --history 10 --dir "$scratch"
  rm -rf -- "$scratch"
}

round() {
  local name
  for name in "${peers[@]}"; do
    peer "$name" 2>"$place/errors" || { cat "$place/errors" >&2; return 1; }
  done
  ours --json --cycles "$cycles" --rounds 1 --history 20
}

main() {
  local number
  install
  ours --json --cycles 2 --rounds 1 --history 20 >/dev/null
  rm -f "$place"/round-*.jsonl
  for ((number = 1; number <= rounds; number++)); do
    echo "round $number of $rounds, load $(cut -d' ' -f1 /proc/loadavg)" >&2
    round | tee "$place/round-$number.jsonl" >&2
  done
  "$python" replay-tests/benches/peers.py "$place"/round-*.jsonl
}

main "$@"

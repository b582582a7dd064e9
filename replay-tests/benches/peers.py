"""The table of `peers.sh`: medians over the rounds, and ratios within each."""
import json
import statistics
import sys

OURS = "placet"


def cycles(path):
    """What one round measured, by who it was."""
    with open(path) as lines:
        rows = [json.loads(line) for line in lines if line.startswith("{")]
    return {row["peer"]: row for row in rows if row["mode"] == "cycles"}


def spread(values):
    return f"{statistics.median(values):.1f} [{min(values):.1f}-{max(values):.1f}]"


rounds = [cycles(path) for path in sys.argv[1:]]
HEAD = ["", "cycles/s", "p50 ms", "p99 ms", "p50: a whole run is times faster", "an approval in a run is",
        "64 at once: whole runs are times as many", "approvals in runs are"]
print("| " + " | ".join(HEAD) + " |")
print("|---" * len(HEAD) + "|")
for peer in rounds[0]:
    middle = {key: statistics.median(r[peer][key] for r in rounds) for key in ("cycles_per_s", "p50_ms", "p99_ms")}
    faster = [spread([r[peer]["p50_ms"] / r[mode]["p50_ms"] for r in rounds]) for mode in (OURS, OURS + "-in-run")]
    many = [spread([r[mode + "-64"]["cycles_per_s"] / r[peer]["cycles_per_s"] for r in rounds])
            for mode in (OURS, OURS + "-in-run")]
    ratios = ["-"] * 4 if peer.startswith(OURS) else faster + many
    cells = [peer, f"{middle['cycles_per_s']:.0f}", f"{middle['p50_ms']:.2f}", f"{middle['p99_ms']:.2f}", *ratios]
    print("| " + " | ".join(cells) + " |")

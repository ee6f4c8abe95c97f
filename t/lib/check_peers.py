"""Compares what the programs of a job printed with what `explain -o json` had said.

usage: check_peers.py EXPLAIN OUTPUT LEVEL

Every program prints "rank=R size=N host=H" once it has met all its peers. Muster prefixes the line
with the replica (and, for an MPI rank, the rank) it saw it come from. Says what is wrong and fails,
or prints "SIZE on HOSTS".
"""
import json
import re
import sys
from collections import Counter

explain, output, level = sys.argv[1:]
with open(explain, encoding="utf-8") as f:
    job = json.load(f)["jobs"][0]
slots = {role["name"]: role["slots"] for role in job["roles"]}
hosts = {p["replica"]: p["host"] for p in job["processes"]}
launched = [p for p in job["processes"] if p["argv"] is None and p["shell"] is None]
started = launched or job["processes"]  # whose replicas the programs run in

lines = []
with open(output, encoding="utf-8", errors="replace") as f:
    for line in f:
        m = re.match(r"\[([^/\]]+)(?:/(?:(\d+)|[a-z]+-\d+))?\] rank=(\d+) size=(\d+) host=(\S+)$", line)
        if m:
            lines.append((m[1], m[2], int(m[3]), int(m[4]), m[5]))


def expect(condition, message):
    if not condition:
        sys.exit(f"{message}\n" + "\n".join(map(str, lines)))


expect(lines, "no program has met its peers")
size = len(lines)
expect({line[3] for line in lines} == {size}, f"{size} programs spoke, but their sizes differ")
expect(sorted(line[2] for line in lines) == list(range(size)), "the ranks are not 0 to size - 1")
for replica, seen_rank, rank, _, host in lines:
    expect(replica in hosts, f"{replica} is not in the plan")
    expect(seen_rank is None or int(seen_rank) == rank, f"muster took rank {rank} for {seen_rank}")
    if level != "none":
        expect(host == hosts[replica], f"{replica} calls itself {host}, the plan {hosts[replica]}")
per_replica = Counter(line[0] for line in lines)
if launched:
    for p in launched:
        want = slots[p["role"]]
        expect(per_replica[p["replica"]] == want, f"{p['replica']} ran {per_replica[p['replica']]} of {want}")
expect(set(per_replica) == {p["replica"] for p in started}, "not every replica spoke")
expect(len(set(per_replica.values())) == 1, f"uneven: {dict(per_replica)}")
print(f"{size} on {len(per_replica)}")

"""Compares environments that processes printed with what `explain -o json` says of them.

usage: check_env.py EXPLAIN DIRECTORY RUN_ID [MASKED…]

DIRECTORY holds one file per process, named ROLE.INDEX or ROLE.INDEX.RANK, with NUL between
variables. EXPLAIN says RUN_ID where the run has its own. Variables that a shell adds by itself are
left aside; those named MASKED must be *** in EXPLAIN.
"""
import json
import os
import sys

explain, directory, run_id, *masked = sys.argv[1:]
OF_SHELLS = {"_", "PWD", "OLDPWD", "SHLVL", "BASH_EXECUTION_STRING"}

with open(explain, encoding="utf-8") as f:
    job = json.load(f)["jobs"][0]
checked = 0
for p in job["processes"]:
    name = f"{p['role']}.{p['index']}" + ("" if p["rank"] is None else f".{p['rank']}")
    path = os.path.join(directory, name)
    if p["argv"] is None and p["shell"] is None:
        continue  # it only waits
    with open(path, encoding="utf-8") as f:
        got = dict(v.split("=", 1) for v in f.read().split("\0") if v)
    want = {k: v.replace("RUN_ID", run_id) for k, v in p["env"].items()}
    for k in OF_SHELLS:
        if k not in want:
            got.pop(k, None)
        elif k in got:
            want[k] = got[k]
    for k in masked:
        if want.get(k) != "***" or not got.get(k) or got[k] == "***":
            sys.exit(f"{name}: {k} is {want.get(k)!r} in explain")
        want[k] = got[k]
    wrong = sorted(k for k in got.keys() | want.keys() if got.get(k) != want.get(k))
    if wrong:
        sys.exit("\n".join(f"{name}: {k} is {got.get(k)!r}, explain said {want.get(k)!r}" for k in wrong))
    if set(p["env_origin"]) != set(p["env"]):
        sys.exit(f"{name}: an origin is missing")
    checked += 1
print(f"{checked} processes")

#!/usr/bin/env python3
"""Compares the environments that processes had with what explain said of them.

usage: check_env.py EXPLAIN PLAN WEIGHTS-DIR

EXPLAIN is what `explain -o json` printed before the run, PLAN what the run recorded; they may differ in
what is new in every run: its id and its ports. Each process left its environment in WEIGHTS-DIR/*.env. A
launcher in between, torchrun or mpirun, adds variables and changes those that are its own; a job's command
may begin with lines that export some.
"""
import glob
import json
import re
import sys

OF_SHELLS = {"_", "PWD", "OLDPWD", "SHLVL", "LC_CTYPE"}  # LC_CTYPE is Python's own doing
OF_TORCHRUN = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"}
OF_MPIRUN = {"PATH", "LD_LIBRARY_PATH"}  # it puts its own directories first
OF_MPIRUN_NAMES = re.compile(r"OMPI_|PMIX?_|MPI|HYDRA|HYDI|GFORTRAN|HOROVOD_|NCCL_SOCKET_IFNAME")


def jobs(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["jobs"][0]["processes"]


def by_launcher(env):
    """The variables that are the launcher's between this process and Muster, if there is one."""
    if "TORCHELASTIC_RUN_ID" in env:
        return OF_TORCHRUN, re.compile("$.")
    if "OMPI_COMM_WORLD_RANK" in env or "PMI_RANK" in env or "HOROVOD_RANK" in env:
        return OF_MPIRUN, OF_MPIRUN_NAMES
    return set(), re.compile("$.")


explained, planned, directory = jobs(sys.argv[1]), jobs(sys.argv[2]), sys.argv[3]
wrong = []


def differ(who, name, a, b):
    wrong.append(f"{who}: {name} is {a!r}, was to be {b!r}")


# What differs between two runs by nature.
run_id = planned[0]["env"]["MUSTER_RUN_ID"]
ports = {}
for before, now in zip(explained, planned):
    for label in now["ports"]:
        pair = (process["ports"][label] for process in (before, now))
        ports.update(zip(*(map(str, p if isinstance(p, list) else [p]) for p in pair)))


def in_this_run(value):
    value = value.replace("RUN_ID", run_id)
    return re.sub(r"\b\d{4,5}\b", lambda m: ports.get(m[0], m[0]), value)


for before, now in zip(explained, planned):
    for name in sorted(set(before["env"]) | set(now["env"])):
        a, b = now["env"].get(name), before["env"].get(name)
        if b is None or a is None or a not in (b, in_this_run(b)):
            differ(f"plan of {now['replica']}", name, a, b)

# horovodrun and Hydra give their ranks their own environment; only MUSTER_* is then the replica's.
handed_on = next(
    (p["env"] for p in planned if re.search("horovodrun|mpiexec.hydra", json.dumps([p["argv"], p["shell"]]))), {}
)

files = glob.glob(f"{directory}/*.env")
for path in files:
    with open(path, encoding="utf-8") as file:
        env = json.load(file)
    mine = [p for p in planned if p["role"] == env["MUSTER_ROLE"] and p["index"] == int(env["MUSTER_INDEX"])]
    if len(mine) > 1:
        mine = [p for p in mine if p["env"].get("RANK", p["env"].get("TF_CONFIG")) == env.get("RANK", env.get("TF_CONFIG"))]
    if len(mine) != 1:
        sys.exit(f"{path}: {len(mine)} processes of the plan are that one")
    plan = mine[0]["env"] | dict(re.findall(r"^export (\w+)=(\S*)$", mine[0]["shell"] or "", re.M))
    names, pattern = by_launcher(env)
    launched = bool(names)
    for name in sorted((set(env) | set(plan)) - OF_SHELLS - names):
        a, b = env.get(name), plan.get(name)
        inherited = b if name.startswith("MUSTER_") else handed_on.get(name, b)
        if a not in (b, inherited) and not (b is None and launched) and not pattern.match(name):
            differ(path, name, a, b)
if wrong or not files:
    sys.exit("\n".join(wrong) or "no process has left its environment behind")
print(f"{len(files)} environments: as explained")

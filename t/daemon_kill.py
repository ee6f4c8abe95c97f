#!/usr/bin/env python3
"""Jobs of a daemon that is killed with SIGKILL at random moments, again and again.

    daemon_kill.py MUSTER ROUNDS JOBS SEED

Each job appends "TOKEN PID STARTTIME CODE" to a file when it begins, sleeps, and exits with CODE. At the end
every job must have begun once, ended once with its own code, and nothing of any may be left. Jobs are submitted
between the rounds, so that some wait, start and end while there is no daemon. Every fifth job is a gang of two from a
file that is tried three times: it must begin three times, with attempts 1, 2 and 3. Prints what is wrong, line by line.
"""
import json, os, random, signal, subprocess, sys, time

muster, rounds, n_jobs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(seed)
began = os.path.abspath("began")
open(began, "w").close()
SCRIPT = ('echo "$1 $$ $(cut -d" " -f22 /proc/self/stat) $2" >>"$3"; sleep "$4"; exit "$2"')
expected = {}
begins = {}
bad = []


def serve():
    return subprocess.Popen([muster, "serve", "--cpus", str(max(4, n_jobs // 2))], stderr=open("serve.log", "a"))


def ready(limit=60):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        r = subprocess.run([muster, "submit", "--no-autostart", "-n", "1", "--", "true"], capture_output=True, text=True)
        if r.returncode == 0:
            expected[r.stdout.strip()] = (None, 0)
            return True
        time.sleep(0.02)
    return False


RETRIED = """protocolVersion: 2
name: %s
type: job
jobRetryCount: 2
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 16, gpu: 0}
    commands:
      - test $MUSTER_INDEX = 0 || exec sleep 30; echo "%s $$ $MUSTER_ATTEMPT %d" >>%s; sleep %s; exit %d
"""


def words(token, code, secs):
    if rng.random() < 0.8:
        return 1, ["-n", "1", "--", "sh", "-c", SCRIPT, "sh", token, str(code), began, secs]
    with open(token + ".yaml", "w") as f:
        f.write(RETRIED % (token, token, code or 3, began, secs, code or 3))
    return 3, [token + ".yaml"]


def submit(n):
    """A submission that is acknowledged must not be lost; one that is not may be there or not."""
    for _ in range(n):
        token, code = "t%d" % rng.getrandbits(60), rng.choice([0, 0, 1, 3, 7, 42, 99])
        secs = "%.2f" % rng.choice([0, 0.05, 0.3, 1, 2])
        times, args = words(token, code, secs)
        begins[token] = times
        r = subprocess.run([muster, "submit", "-q", "--no-autostart"] + args, capture_output=True, text=True)
        if r.returncode == 0:
            expected[r.stdout.strip()] = (token, code if times == 1 else code or 3)
        else:
            maybe[token] = code


maybe = {}
daemon = serve()
if not ready():
    sys.exit("the daemon does not start: " + open("serve.log").read())
per_round = max(1, n_jobs // max(1, min(rounds, 10)))
left = n_jobs
for i in range(rounds):
    part = min(left, per_round)
    left -= part
    half = rng.random() < 0.5
    if half:
        submit(part)
    if rng.random() < 0.5:
        time.sleep(rng.random() * 0.3)
    else:
        time.sleep(rng.random() * 0.02)
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
    if rng.random() < 0.3:
        time.sleep(rng.random() * 0.5)
    daemon = serve()
    if not half:
        if rng.random() < 0.8:
            ready()
        submit(part)
submit(left)
if not ready():
    sys.exit("the daemon does not start again: " + open("serve.log").read())

end = time.monotonic() + 300
while time.monotonic() < end:
    r = subprocess.run([muster, "list", "-o", "json"], capture_output=True, text=True)
    jobs = {j["id"]: j for j in json.loads(r.stdout)["jobs"]}
    if all(j["phase"] == "ended" for j in jobs.values()):
        break
    time.sleep(0.2)

lines = [l.split() for l in open(began)]
for id_, (token, code) in expected.items():
    job = jobs.get(id_)
    if job is None:
        bad.append("%s is lost" % id_)
        continue
    if job["phase"] != "ended" or job["exit_code"] != code:
        bad.append("%s: phase %s, exit code %s, expected %s" % (id_, job["phase"], job["exit_code"], code))
    n = sum(l[0] == token for l in lines)
    if token and n != begins[token]:
        bad.append("%s (%s) began %d times, not %d" % (id_, token, n, begins[token]))
    if token and begins[token] == 3 and sorted(l[2] for l in lines if l[0] == token) != ["1", "2", "3"]:
        bad.append("%s: its attempts are not 1, 2 and 3" % id_)
for token in maybe:
    n = sum(l[0] == token for l in lines)
    if n > begins[token]:
        bad.append("unacknowledged %s began %d times" % (token, n))
known = set(t for t, _ in expected.values()) | set(maybe)
for l in lines:
    if l[0] not in known or len(l) != 4:
        bad.append("unexpected line %s" % l)
for pid in os.listdir("/proc"):
    if not pid.isdigit():
        continue
    try:
        env = open("/proc/%s/environ" % pid, "rb").read().decode(errors="replace")
    except OSError:
        continue
    if any("MUSTER_RUN_ID=" + i in env for i in jobs):
        end = time.monotonic() + 5
        while os.path.exists("/proc/" + pid) and time.monotonic() < end:
            time.sleep(0.05)
        if os.path.exists("/proc/" + pid):
            bad.append("process %s is left: %s" % (pid, open("/proc/%s/cmdline" % pid).read().replace("\0", " ")))
daemon.send_signal(signal.SIGTERM)
code = daemon.wait()
if code != 0:
    bad.append("the daemon ended with %d at SIGTERM" % code)
print("%d jobs acknowledged, %d not, %d began, %d rounds" % (len(expected), len(maybe), len(lines), rounds))
print("\n".join(bad[:20]))
sys.exit(1 if bad else 0)

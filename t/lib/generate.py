"""Compares what `muster generate` writes with documents of ksonnet.

usage: generate.py MUSTER FILE

The first comment lines of FILE say which prototype and which parameters it was made with:
    # prototype: io.ksonnet.pkg.mpi-job-simple
    # params: {'name': 'x', 'gpus': 8}
Both output forms must be the same document as FILE.
"""
import ast
import json
import re
import subprocess
import sys

import yaml

muster, path = sys.argv[1:]
with open(path, encoding="utf-8") as f:
    text = f.read()
prototype = re.search(r"^# prototype: (\S+)", text, re.M)[1]
params = ast.literal_eval(re.search(r"^# params: (.*)", text, re.M)[1])
name = params.pop("name")
command = [muster, "generate", prototype, name] + [f"--{k}={v}" for k, v in params.items()]
want = yaml.safe_load(text)
for form, load in (("yaml", yaml.safe_load), ("json", json.loads)):
    got = load(subprocess.run(command + ["-o", form], check=True, capture_output=True, text=True).stdout)
    if got != want:
        sys.exit(f"{' '.join(command)} -o {form}:\n{yaml.dump(got)}\nis not\n{yaml.dump(want)}")

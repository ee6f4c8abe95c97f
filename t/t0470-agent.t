#!/bin/sh
# The ssh of a run: every form in which launchers and people call it, from inside a real job.
#
# Rank 0 of a job on three hosts works through the table below; each line is an exit code, the output
# (lines joined by "/"), and a command line. Those of launchers are as they were recorded.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

cat >"$WORK/calls" <<'TABLE'
0||horovodrun 0.28, first contact|ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no worker-1 -o ConnectTimeout=10 true
0|worker-1|horovodrun with a port and a key|ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no worker-1 -p 2222 -i /none/id -o ConnectTimeout=10 hostname
0|/usr/3 worker-2|horovodrun over Gloo, a rank|ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no worker-2 'cd /usr > /dev/null 2>&1 ; env HOROVOD_RANK=3 HOROVOD_HOSTNAME=worker-2 sh -c "pwd; echo \$HOROVOD_RANK \$HOROVOD_HOSTNAME"'
0|-mca ess env -mca orte_hnp_uri 1.0;tcp://127.0.0.1:1|Open MPI 4, literal quotes|ssh -x worker-1  echo -mca ess '"env"' -mca orte_hnp_uri '"1.0;tcp://127.0.0.1:1"'
0|worker-1 /x|Open MPI with --prefix|ssh -x worker-1 PATH=/x ';' export PATH ';' LD_LIBRARY_PATH='/x${LD_LIBRARY_PATH:+:}$LD_LIBRARY_PATH' ';' export LD_LIBRARY_PATH ';' echo '$MUSTER_HOST' '$PATH'
0|--control-port worker-0:1 --rmk user|MPICH, its proxy in quotes|ssh -x worker-1 '"/bin/echo"' --control-port worker-0:1 --rmk user
0|worker-2|Intel MPI|ssh -q -x worker-2 hostname
0|worker-1|deepspeed, first contact|ssh -o PasswordAuthentication=no worker-1 hostname
0|/usr 4|deepspeed through pdsh|ssh -oConnectTimeout=10 -2 -a -x -lroot worker-1 'export A=4; ' cd '/usr;' echo '$PWD' '$A'
0|worker-1|rsh|rsh worker-1 hostname
0|worker-1|rsh, options after the host|rsh worker-1 -l root -n hostname
0|worker-1|rsh, options before it|rsh -n -l root worker-1 hostname
0|worker-2|user@host and -tt|ssh -tt root@worker-2 hostname
0|worker-2|-p22 -l root -n -q|ssh -p22 -l root -n -q worker-2 hostname
0|worker-2|flags in one word, an argument at its end|ssh -4qxo BatchMode=yes worker-2 hostname
0|worker-2|several options after the host|ssh worker-2 -tt -o X=y -q -- hostname
0|-x worker-1|-- before the host|ssh -- worker-1 echo -x '$MUSTER_HOST'
0|worker-1|a URI|ssh ssh://root@worker-1:22 hostname
0|worker-1|another case|ssh Worker-1 hostname
0|worker-1|a domain|ssh worker-1.job.default.svc.cluster.local hostname
0|worker-0|itself|ssh worker-0 hostname
0|worker-0|localhost is where it is called|ssh localhost hostname
0|worker-1|which may be elsewhere|ssh worker-1 ssh 127.0.0.1 hostname
0|a  b|words are joined by blanks, as ssh does it|ssh worker-1 echo 'a\ ' b
0|1 1 worker|row 1.4: the replica's variables|ssh worker-1 echo '$MUSTER_INDEX $RANK $MUSTER_ROLE'
7||exit codes pass|ssh worker-1 exit 7
127||not found is the shell's 127|ssh worker-1 no-such-program-here 2>/dev/null
143||a signal is 128 and its number|ssh worker-1 'kill -TERM $$'
0|in|stdin passes|echo in | ssh worker-1 cat
0||-n: it does not|echo in | ssh -n worker-1 cat
0|worker-1|no command, no terminal: a shell reads stdin|echo hostname | ssh worker-1
5|worker-1|with its code|printf 'hostname\nexit 5\n' | ssh -tt root@worker-1
0|worker-1|row 3.13: until it answers|until ssh worker-1 true; do sleep 1; done; ssh worker-1 hostname
0|e|stderr is apart|ssh worker-1 'echo o; echo e >&2' 2>&1 >/dev/null
0|real -p 7 elsewhere.example echo x|a host that is no replica: the real ssh|ssh -p 7 elsewhere.example echo x
TABLE

cat >"$WORK/fake-ssh" <<'SH'
#!/bin/sh
echo "real $*"
SH
mkdir "$WORK/bin"
install -m 755 "$WORK/fake-ssh" "$WORK/bin/ssh"

cat >"$WORK/rank" <<'SH'
env >env.$RANK
if [ "$RANK" -ne 0 ]; then
    until [ -e over ]; do sleep 0.05; done
    exit
fi
until [ -e env.1 ] && [ -e env.2 ]; do sleep 0.05; done
while IFS='|' read -r code want name words; do
    got=$(eval "$words" </dev/null | tr '\n' '/')
    # the pipe's code is tr's: once more for its own
    (eval "$words") >/dev/null 2>&1 </dev/null
    printf '%s|%s|%s\n' "$?" "${got%/}" "$name"
done <calls >results
for from in 0 1 2; do
    for to in worker-0 worker-1 worker-2 $(python3 -c 'import json, os
for p in json.load(open(os.environ["MUSTER_PEERS"])): print(p["host"], p["replica"], p["address"])'); do
        echo "$from $to $(ssh worker-$from ssh $to hostname)"
    done
done >reach
ssh worker-1 env >env.ssh
ssh worker-1 'echo $$ >sleeper; exec sleep 1234' &
until [ -s sleeper ]; do sleep 0.05; done
kill $!
i=0
while [ -e /proc/$(cat sleeper) ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
[ -e /proc/$(cat sleeper) ] || echo gone >killed
ssh -f worker-1 'until [ -e go ]; do sleep 0.05; done; hostname >went'
touch go
until [ -s went ]; do sleep 0.05; done
if command -v pdsh >/dev/null; then
    pdsh -w worker-[0-2] hostname | sort >pdsh.default
    pdsh -R ssh -w worker-1,worker-2 'echo $MUSTER_INDEX' | sort >pdsh.ssh
    pdsh -S -f 1024 -w worker-1,worker-2 'exit $((4 + MUSTER_INDEX))' >/dev/null 2>&1
    echo $? >pdsh.code
    PDSH_SSH_ARGS='-q -oBatchMode=yes -l%u %h' pdsh -w worker-2 hostname >pdsh.args
fi
touch over
SH

cd "$WORK" || exit 1
PATH=$WORK/bin:$PATH run_job -n 3 --hosts 3 -- sh ./rank
is "$rc" 0 "the job runs to its end" || diag "$(cat "$err")"
exec 3<"$WORK/results"
while IFS='|' read -r code want name _; do
    IFS= read -r got <&3
    is "$got" "$code|$want|$name" "0.15: $name"
done <"$WORK/calls"
is "$(awk '{ print $2 == "127.1.0.1" ? "worker-0" : $2 == "127.1.0.2" ? "worker-1" : $2 == "127.1.0.3" ? "worker-2" : $2, $3 }' "$WORK/reach" |
    awk '$1 == $2' | wc -l) $(wc -l <"$WORK/reach")" "36 36" "every replica reaches every other by all its names"
changes='^(_|PWD|OLDPWD|SHLVL|MUSTER_FORWARD|MUSTER_LAUNCH)='
for f in env.ssh env.1; do
    grep -Ev "$changes" "$f" | sort >"$f.sorted"
done
is "$(diff env.ssh.sorted env.1.sorted)" "" "1.4: the environment is that of the task"
is "$(cat "$WORK/killed" 2>&1)" gone "a killed ssh takes its command along"
is "$(cat "$WORK/went" 2>&1)" worker-1 "-f returns while the command runs"
if command -v pdsh >/dev/null; then
    is "$(cat "$WORK/pdsh.default")" "worker-0: worker-0
worker-1: worker-1
worker-2: worker-2" "0.15: the real pdsh, as it is called"
    is "$(cat "$WORK/pdsh.ssh")" "worker-1: 1
worker-2: 2" "0.15: pdsh -R ssh"
    is "$(cat "$WORK/pdsh.code")" 6 "0.15: pdsh -S has the largest code"
    is "$(cat "$WORK/pdsh.args")" "worker-2: worker-2" "0.15: PDSH_SSH_ARGS"
else
    skip "no pdsh here" 4
fi
done_testing

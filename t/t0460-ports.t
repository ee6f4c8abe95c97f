#!/bin/sh
# Ports: a job's for its life, whoever else is on the machine.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

# --- one job -------------------------------------------------------------------------------------

cat >"$WORK/serve.py" <<'PYTHON'
"""Serves its port in every way a framework does, one after the other, and asks it from outside."""
import os, socket
port, name = int(os.environ["MASTER_PORT"]), os.environ["MASTER_ADDR"]
for family, address in ((socket.AF_INET, ""), (socket.AF_INET, name), (socket.AF_INET6, "::")):
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        try:
            s = socket.socket(family)
        except OSError:
            print("up")  # no IPv6 here
            continue
        s.setsockopt(socket.SOL_SOCKET, option, 1)
        s.bind((address, port))
        s.listen()
        c = socket.create_connection((name, port))
        a = s.accept()[0]
        a.sendall(b"up")
        print(c.recv(9).decode())
        c.close()  # before the server, which could not bind again for a minute
        a.recv(9)
        a.close()
        s.close()
PYTHON
run_job -n 1 -- python3 "$WORK/serve.py"
is "$rc $(grep -c 'up$' "$out")" "0 6" "a server of the job binds its port, as frameworks do it" || diag "$(cat "$err")"

run_job -n 1 -- sh -c 'echo $MASTER_PORT'
first=$(cat "$out")
run_job -n 1 -- sh -c 'echo $MASTER_PORT'
is "$(cat "$out")" "$first" "the same job gets the same number again"

bindable() # PORT FAMILY: by a stranger
{
    python3 -c 'import socket, sys
s = socket.socket(getattr(socket, sys.argv[2]))
s.bind(("", int(sys.argv[1])))' "$1" "$2" 2>"$WORK/bind"
}
hold() # FILE: a job that writes its port there and lives until $WORK/go
{
    "$MUSTER" run -n 1 -- sh -c 'echo $MASTER_PORT >"$0.new"; mv "$0.new" "$0"; until [ -e "$1" ]; do sleep 0.05; done' \
        "$1" "$WORK/go" >/dev/null 2>&1 &
}
hold "$WORK/held"
wait_until 20 test -s "$WORK/held"
port=$(cat "$WORK/held")
bindable "$port" AF_INET
is "$?" 1 "a port is held while the job lives"
like "$(cat "$WORK/bind")" "Address already in use" "a stranger is told so"
bindable "$port" AF_INET6
is "$?" 1 "for IPv6 too"
touch "$WORK/go"
wait
ok "and free afterwards" bindable "$port" AF_INET
rm "$WORK/go"

# --- many ----------------------------------------------------------------------------------------

mkdir "$WORK/many"
if can_be_user; then
    user_copy
    mkdir "$USER_DIR/many"
    chown "$USER_ID" "$USER_DIR/many"
    chmod 711 "$WORK"
    many_user() # N
    {
        as_user ./muster run -n 1 -- sh -c 'echo $MASTER_PORT >"$0"; until [ -e "$1" ]; do sleep 0.1; done' \
            "$USER_DIR/many/$1" "$WORK/go" >/dev/null 2>&1 &
    }
else
    diag "only one user: $(id -un)"
    mkdir -p "$USER_DIR/many"
    many_user()
    {
        hold "$USER_DIR/many/$1"
    }
fi
i=0
while [ $i -lt 25 ]; do
    hold "$WORK/many/$i"
    many_user $i
    i=$((i + 1))
done
all_up()
{
    [ "$(cat "$WORK"/many/* "$USER_DIR"/many/* 2>/dev/null | wc -l)" -eq 50 ]
}
ok "50 jobs of two users start at once" wait_until 60 all_up
is "$(cat "$WORK"/many/* "$USER_DIR"/many/* | sort -u | wc -l)" 50 "no two of them share a port"
touch "$WORK/go"
wait
rm "$WORK/go"

# --- fixed numbers -------------------------------------------------------------------------------

fixed() # NUMBER REPLICAS: a job file that asks for the port
{
    cat >"$WORK/fixed.json" <<JSON
{"jobName": "fixed", "image": "none", "taskRoles": [{"name": "main", "taskNumber": $2, "cpuNumber": 1, "memoryMB": 64,
  "portList": [{"label": "web", "beginAt": $1, "portNumber": 1}],
  "command": "echo port \$PAI_CONTAINER_HOST_web_PORT_LIST; until [ ! -e $WORK/stay ]; do sleep 0.05; done"}]}
JSON
}
fixed "$port" 1
if "$MUSTER" validate "$WORK/fixed.json" >/dev/null 2>&1; then
    run_job "$WORK/fixed.json"
    is "$rc $(sed 's/.* //' "$out")" "0 $port" "a fixed number is honoured" || diag "$(cat "$err")"
    python3 -c 'import socket, sys
s = socket.create_server(("", int(sys.argv[1]))); print("up", flush=True); s.accept()' "$port" >"$WORK/server" &
    server=$!
    wait_until 10 test -s "$WORK/server"
    run_job "$WORK/fixed.json"
    is "$rc" 125 "a fixed port that is already in use is refused"
    like "$(cat "$err")" "port $port .*python3? \(pid $server\)" "its holder is named"
    run_muster explain "$WORK/fixed.json"
    is "$rc" 0 "explain shows such a job"
    kill $server
    wait $server 2>/dev/null
    touch "$WORK/stay"
    "$MUSTER" run "$WORK/fixed.json" >"$WORK/other" 2>&1 &
    holder=$!
    wait_until 20 grep -q "port $port" "$WORK/other"
    run_job "$WORK/fixed.json"
    is "$rc" 125 "by another run likewise"
    like "$(cat "$err")" "muster \(pid $holder\), run $(basename "$XDG_RUNTIME_DIR"/muster/*)" "which is named"
    rm "$WORK/stay"
    wait $holder
    wait_until 20 python3 -c 'import socket, sys; socket.socket().bind(("", int(sys.argv[1])))' "$port"
    fixed "$port" 2
    run_job "$WORK/fixed.json"
    is "$rc" 125 "two replicas with one fixed port are refused"
    like "$(cat "$err")" "main-0 and main-1.*--isolate network" "both are named, and what helps"
else
    skip "no dialect with fixed ports yet" 8
fi
done_testing

#!/bin/sh
# Pods on the local engine: volumes of every kind, init containers, references of their environment, at
# each level of isolation, as root and as an ordinary user; and that nothing of it is left on the machine.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

# Paths that no machine has. /etc is never written to by an ordinary user, and / by nobody.
root_path=/mt-$$-data
etc_path=/etc/mt-$$

make_values() # DIR
{
    mkdir -p "$1/cm/app" "$1/sec/key" "$1/claim" "$1/host"
    echo 'colour: red' >"$1/cm/app/app.yaml"
    echo 'echo script-ran' >"$1/cm/app/run.sh"
    printf fast >"$1/cm/app/MODE"
    printf 'tok-4711-secret' >"$1/sec/key/token"
    printf 'a\0b' >"$1/sec/key/binary"
    chmod 700 "$1/sec" "$1/sec/key"
    chmod 600 "$1/sec/key/"*
    echo of-claim >"$1/claim/file"
    echo of-host >"$1/host/file"
}

# DIR: every kind of volume; the launcher says what it finds.
make_job()
{
    cat >"$1/job.yaml" <<END
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: pods, namespace: lab}
spec:
  replicas: 1
  slotsPerWorker: 1
  template:
    metadata: {labels: {team: blue}}
    spec:
      initContainers:
        - name: fetch
          image: git
          command: [sh, -c, 'echo fetched by \$POD with \$TOKEN >$root_path-in/got']
          env:
            - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
            - {name: TOKEN, valueFrom: {secretKeyRef: {name: key, key: token}}}
          volumeMounts: [{name: scratch, mountPath: $root_path-in}]
        - name: unpack
          image: busybox
          command: [sh, -c]
          args: ['cat $root_path-in/got >$root_path-in/again; echo "unpacked in \$(WHERE)" | tr " " -']
          env: [{name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, {name: WHERE, value: 'ns \$(NS)'}]
          volumeMounts: [{name: scratch, mountPath: $root_path-in}]
      containers:
        - name: main
          image: trainer
          env:
            - {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
            - {name: TEAM, valueFrom: {fieldRef: {fieldPath: "metadata.labels['team']"}}}
            - {name: CORES, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
            - {name: DATA, value: $root_path/again}
            - {name: LATER, value: '\$(NS)/\$(TEAM)/\$(NOT_SET)/\$\$(NS)'}
          envFrom: [{prefix: CFG_, configMapRef: {name: app}}, {secretRef: {name: none, optional: true}}]
          command: [sh, ./look.sh, $root_path, $root_path-cfg, $etc_path/key, $root_path-claim, $root_path-host]
          resources: {limits: {cpu: 2}}
          volumeMounts:
            - {name: scratch, mountPath: $root_path}
            - {name: config, mountPath: $root_path-cfg}
            - {name: secret, mountPath: $etc_path/key}
            - {name: claim, mountPath: $root_path-claim, subPath: runs/1}
            - {name: host, mountPath: $root_path-host, readOnly: true}
      volumes:
        - {name: scratch, emptyDir: {}}
        - {name: config, configMap: {name: app, defaultMode: 0555, items: [{key: run.sh, path: bin/run.sh}, {key: app.yaml, path: app.yaml}]}}
        - {name: secret, secret: {secretName: key}}
        - {name: claim, persistentVolumeClaim: {claimName: dataset}}
        - {name: host, hostPath: {path: $1/host}}
END
    cat >"$1/look.sh" <<'END'
[ "$(cat /proc/self/comm)" ] || exit 9
cat "$1/again" "$2/app.yaml" "$3/token" "$5/file"
[ "$(cat "$DATA")" = "$(cat "$1/again")" ] && echo the variable leads there too
[ -e "$2/bin/run.sh" ] && "$2/bin/run.sh"
wc -c <"$3/binary"
stat -c '%a %F' "$3/token"
stat -f -c 'on %T' "$3"
echo written >"$4/out" && echo the claim can be written
echo x 2>/dev/null >"$5/new" || echo the host path cannot
echo x 2>/dev/null >/mt-never || echo nothing new in /
echo x >"$1/new" && echo the scratch volume can be written
echo "$LATER $CORES cores"
echo "$CFG_MODE"
END
}

expected() # what look.sh says at `names` and `network`
{
    cat <<'END'
fetched by pods-launcher with tok-4711-secret
colour: red
tok-4711-secretof-host
the variable leads there too
script-ran
3
400 regular file
on tmpfs
the claim can be written
the host path cannot
nothing new in /
the scratch volume can be written
lab/blue/$(NOT_SET)/$(NS) 2 cores
fast
END
}

launcher() # what it said
{
    sed -n 's/^\[launcher-0\] //p' "$out"
}

nothing_left() # NAME
{
    is "$(ls -d "$root_path"* "$etc_path"* /mt-never 2>/dev/null)" "" "$1: nothing of it is left on the machine"
}

# LEVEL WHO DIR COMMAND…: the whole job
whole_job()
{
    level=$1 who=$2 dir=$3
    shift 3
    rm -rf "$dir/claim/runs"
    "$@" timeout -k 5 60 "$run_as" run --isolate "$level" --report "$dir/report" --secrets "$dir/sec" \
        --configmaps "$dir/cm" --volume dataset="$dir/claim" "$dir/job.yaml" >"$out" 2>"$err" </dev/null
    is "$?" 0 "$level, $who: ends with 0" || diag "$(tail -n 20 "$err" "$out")"
    is "$(launcher)" "$(expected)" "$level, $who: every volume is what it should be"
    is "$(sed -n 's,^\[worker-0/init-unpack\] ,,p' "$out")" unpacked-in-ns-lab \
        "$level, $who: an init container's output, its variables expanded"
    is "$(cat "$dir/claim/runs/1/out")" written "$level, $who: what is written to a claim stays"
    nothing_left "$level, $who"
    is "$(grep -rl tok-4711 "$dir/home" "$dir/run" "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" 2>/dev/null | grep -v '/logs/')" "" \
        "$level, $who: the secret is in no file of the run"
}

have_level() # LEVEL COMMAND…
{
    level=$1
    shift
    "$@" "$run_as" run --isolate "$level" -n 1 -- true >"$out" 2>"$err" </dev/null
}

mkdir "$WORK/job"
make_values "$WORK/job"
make_job "$WORK/job"
run_as=$MUSTER
for level in names network; do
    if have_level $level env; then
        whole_job "$level" root "$WORK/job" env
    else
        skip "level $level cannot be had here" 6
    fi
done
if can_be_user; then
    user_copy
    mkdir -p "$USER_DIR/job"
    make_values "$USER_DIR/job"
    make_job "$USER_DIR/job"
    chown -R "$USER_ID:$USER_ID" "$USER_DIR/job"
    run_as=$USER_DIR/muster
    for level in names network; do
        if have_level $level as_user; then
            whole_job "$level" user "$USER_DIR/job" as_user
        else
            skip "level $level cannot be had here by an ordinary user" 6
        fi
    done
else
    skip "no way to become an ordinary user" 12
fi
cd "$WORK/job" || exit 1

given="--secrets sec --configmaps cm --volume dataset=claim"

# --- level none: paths are replaced ---------------------------------------------------------------

# shellcheck disable=SC2086 # several words
run_job --isolate none $given job.yaml
is "$rc" 0 "none: ends with 0" || diag "$(cat "$err")"
is "$(launcher | grep -v -e '^[46]00 ' -e '^on ' -e cannot -e 'nothing new' -e script-ran)" \
    "$(expected | grep -v -e '^[46]00 ' -e '^on ' -e cannot -e 'nothing new' -e script-ran)" \
    "none: what names a path of a volume leads there"
rm -f host/new /mt-never
nothing_left none
like "$(cat "$err"; "$MUSTER" explain --isolate none job.yaml)" 'cannot mount volumes: .* below .*'"$root_path" "none: explain warns"

# --- what cannot be had ---------------------------------------------------------------------------

refused() # NAME ERE ARG…
{
    name=$1 want=$2
    shift 2
    run_job "$@"
    is "$rc" 125 "$name: refused"
    like "$(cat "$err")" "$want" "$name: and why"
}

refused "a claim" 'job.yaml:[0-9]+: .*claim dataset.*--volume dataset=PATH' --secrets sec --configmaps cm job.yaml
refused "a config map" 'config map app.*--configmaps DIR' --secrets sec --volume dataset=claim job.yaml
refused "a volume that is none" 'volume nope=.*no role mounts' --secrets sec --configmaps cm --volume dataset=claim --volume nope=. job.yaml
mv host host.away
# shellcheck disable=SC2086
refused "a host path" "volume host: $WORK/job/host does not exist.*--volume host=PATH" $given job.yaml
mv host.away host

small() # VOLUME MOUNT COMMAND [MORE]: a job with one volume
{
    cat >small.yaml <<END
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: small}
spec:
  replicas: 1
  slotsPerWorker: 1
  ${4:-}
  template:
    spec:
      containers:
        - {name: main, image: x, command: [sh, -c, '$3'], volumeMounts: [{name: v, $2}]}
      volumes: [{name: v, $1}]
END
}

small 'emptyDir: {}' "mountPath: $WORK/job/missing" true
refused "a mount point in a directory that is written to" "$WORK/job/missing, the path of volume v,.*--map" small.yaml
run_job --map "$WORK/job/missing=$WORK/job/claim" small.yaml
is "$rc" 0 "with --map it runs, and nothing is mounted there" || diag "$(cat "$err")"
is "$(ls -d missing 2>/dev/null)" "" "nor is it made"

small "hostPath: {path: $WORK/nowhere, type: DirectoryOrCreate}" "mountPath: $root_path" "echo >$root_path/f && ls $root_path"
run_job small.yaml
is "$rc $(launcher)" "0 f" "a host path that is to be made begins empty"
is "$(ls -d "$WORK/nowhere" 2>/dev/null)" "" "and is not made on the machine"

small 'emptyDir: {medium: Memory, sizeLimit: 1Mi}' "mountPath: $root_path" "stat -f -c \"%T %b %S\" $root_path"
run_job small.yaml
is "$(launcher | awk '{ print $1, $2 * $3 }')" "tmpfs 1048576" "an emptyDir in memory has its size"

small 'emptyDir: {}' "mountPath: /tmp" "ls /tmp; [ -d \$MUSTER_RUN_DIR ] && command -v ssh"
run_job small.yaml
is "$rc" 0 "an emptyDir over /tmp does not hide the run's own places" || diag "$(cat "$err" "$out")"
like "$(launcher)" '/bin/ssh$' "they are where they were"

small 'configMap: {name: app}' "mountPath: $etc_path/app.conf, subPath: app.yaml" "cat $etc_path/app.conf"
run_job --configmaps cm small.yaml
is "$(launcher)" "colour: red" "one key of a config map as a file"


# --- init containers ------------------------------------------------------------------------------

init_job() # INIT-CONTAINERS COMMAND [MORE]
{
    cat >init.yaml <<END
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: init}
spec:
  replicas: 1
  slotsPerWorker: 1
  ${3:-}
  template:
    spec:
      initContainers: [$1]
      containers:
        - {name: main, image: x, command: [sh, -c, '$2'], volumeMounts: [{name: v, mountPath: $root_path}]}
      volumes: [{name: v, emptyDir: {}}]
END
}

init_job '{name: one, image: a, command: [sh, -c, "echo first; exit 3"]}, {name: two, image: b, command: [echo, second]}' 'echo main'
run_job init.yaml
is "$rc" 3 "an init container that fails ends the run with its code"
is "$(report cause.kind) $(report cause.exit_code) $(report cause.replica)" "exit 3 worker-0" "it is the cause"
like "$(report cause.message)" 'init container one of worker-0 exited with status 3' "named as what it is"
is "$(report cause.log_tail.0)" first "with its last lines"
is "$(grep -c -e second -e main "$out")" 0 "what comes after it is not run"
is "$(report attempts.0.replicas.1.logs.0)" worker-0.init-one.log "its log is in the report"
has_shape report "$REPORT" "the report is well-formed"
is "$(report attempts.0.replicas.1.outcome) $(report attempts.0.replicas.1.exit_code)" "failed 3" "its replica has failed"
run_muster logs "$(run_id)"
is "$(cat "$out")" first "muster logs has it"

cat >bare.yaml <<'END'
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: bare}
spec:
  replicas: 2
  slotsPerWorker: 1
  template:
    spec:
      initContainers: [{name: hello, image: a, command: [echo, "hello from $(WHO)"], env: [{name: WHO, value: me}]}]
      containers: [{name: main, image: x, command: [echo, main]}]
END
run_job bare.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" \
    "0 [launcher-0/init-hello] hello from me [launcher-0] main [worker-0/init-hello] hello from me [worker-1/init-hello] hello from me " \
    "init containers need no volumes"
run_muster logs "$(run_id)" launcher-0
is "$(tr '\n' ' ' <"$out")" "[launcher-0/init-hello] hello from me [launcher-0] main " "muster logs: each with its prefix, in their order"

run_job --skip-init=one init.yaml
is "$rc $(launcher)" "0 main" "one that is left out is not run"
like "$(cat "$out")" '^\[worker-0/init-two\] second$' "the others are"
run_job --skip-init init.yaml
is "$rc $(cat "$out")" "0 [launcher-0] main" "all are left out"
refused "an init container that is none" 'skip-init=nope: no role' --skip-init=nope init.yaml

init_job "{name: one, image: a, command: [sh, -c, 'echo x >>$root_path/n'], volumeMounts: [{name: v, mountPath: $root_path}]}" \
    "echo >>$root_path/n; wc -l <$root_path/n; [ -e $root_path/again ] || { touch $root_path/again; exit 4; }" 'backoffLimit: 2'
run_job init.yaml
is "$rc $(launcher | sort | tr '\n' ' ')" "0 2 3 " "a process that is started again finds its volume, and no init container runs again"

init_job '{name: one, image: a, command: [/mt/nothing]}' true
run_job init.yaml
is "$rc" 127 "a command that is not there"
like "$(report cause.message)" 'init container one of (launcher|worker)-0 could not execute /mt/nothing' "is told as the init container's"

init_job '{name: one, image: alpine/git}' true
refused "an init container without a command" 'image alpine/git.*--skip-init=one$' init.yaml

init_job '{name: one, image: a, command: [sh, -c, "sleep 600 & echo on"]}' true
run_job init.yaml
is "$rc" 0 "an init container that leaves something behind"
is "$(survivors "$(run_id)")" "" "leaves nothing behind"

init_job '{name: one, image: a, command: [sh, -c, "echo up; sleep 600"]}' true
"$MUSTER" run --grace 2s --report "$REPORT" init.yaml >"$out" 2>"$err" </dev/null &
pid=$!
wait_until 20 grep -q 'worker-0/init-one\] up' "$out"
"$MUSTER" exec worker-0 -- true >"$WORK/exec" 2>&1 </dev/null
is "$?" 1 "a replica that is still at its init containers takes no commands" || diag "$(cat "$WORK/exec")"
kill -TERM $pid
wait $pid
is "$?" 143 "a run that is still at its init containers can be cancelled"
is "$(survivors "$(run_id)")" "" "and nothing is left"

# --- several processes in a replica ---------------------------------------------------------------

cat >native.yaml <<END
apiVersion: muster/v1
name: native
roles:
  worker:
    replicas: 2
    slots: 2
    init: [{name: once, command: 'echo \$MUSTER_INDEX >>$root_path/n; echo ran', mounts: [{name: v, path: $root_path, emptyDir: disk}]}]
    mounts: [{name: v, path: $root_path/sub/dir, emptyDir: disk}, {name: w, path: $root_path/sub, emptyDir: memory}]
    command: 'echo "\$RANK \$(cat $root_path/sub/dir/n) \$(ls $root_path/sub)"'
END
run_job native.yaml
is "$rc $(grep -v init "$out" | sort | tr '\n' ' ')" "0 [worker-0/0] 0 0 dir [worker-0/1] 1 0 dir [worker-1/2] 2 1 dir [worker-1/3] 3 1 dir " \
    "an init container runs once in each replica, and volumes lie in each other" || diag "$(cat "$err" "$out")"
cat >devices.yaml <<END
apiVersion: muster/v1
name: devices
roles:
  worker:
    mounts: [{name: d, path: /dev/mt-$$, emptyDir: disk}]
    command: 'ls -d /dev/mt-$$ && echo x >/dev/shm/x && cat /dev/shm/x && echo y >/dev/null && echo fine'
END
run_job devices.yaml
is "$rc $(cut -d ' ' -f 2 "$out" | tr '\n' ' ')" "0 /dev/mt-$$ x fine " "below /dev, which keeps all that it has" ||
    diag "$(cat "$err")"
nothing_left "after all of it"

# --- explain --------------------------------------------------------------------------------------

# shellcheck disable=SC2086
"$MUSTER" explain $given -o json job.yaml >"$out" 2>"$err"
is "$?" 0 "explain"
has_shape explain "$out" "its JSON is well-formed"
is "$(json jobs.0.roles.0.init.0.name "$out") $(json jobs.0.roles.1.mounts.1.source "$out")" "fetch emptyDir" "it shows init containers and mounts"
is "$(grep -c tok-4711 "$out")" 0 "and no secret"
"$MUSTER" explain job.yaml >"$out" 2>"$err"
is "$?" 0 "explain without what run wants"
like "$(cat "$out")" 'warning: .*claim dataset.*--volume' "says what run would refuse"
like "$(cat "$out")" "^  launcher   $root_path  \\(emptyDir scratch\\): an empty directory" "shows volumes"
like "$(cat "$out")" '^worker-0, first fetch, in ' "shows init containers"

done_testing

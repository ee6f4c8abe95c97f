# shellcheck shell=sh disable=SC2154 # its variables are those of lib.sh
# --overlay: what a job changes outside its own directories is thrown away, or kept for a look.

probe=$(mktemp -u muster-probe-XXXXXX)
layers() # run directories that still have one
{
    find "$XDG_STATE_HOME" "$WORK/killed" "$USER_DIR" -type d -name overlay 2>/dev/null
}

if [ "$(id -u)" -eq 0 ] && "$MUSTER" run --overlay -n 1 -- true >"$out" 2>&1; then
    mkdir -p "/usr/local/share/$probe/sub" work
    touch "/usr/local/share/$probe/sub/file"
    change="rm -rf /usr/local/share/$probe && touch /etc/$probe && test ! -e /usr/local/share/$probe"
    cd work || exit 1

    run_job --overlay -n 1 -- sh -c "$change && test -e /etc/$probe && touch real"
    is "$rc" 0 "overlay: the job may remove and write anything"
    ok "overlay: what it removed is still there" test -e "/usr/local/share/$probe/sub/file"
    ok "overlay: what it wrote is not" test ! -e "/etc/$probe"
    ok "overlay: the working directory is real" test -e real
    is "$(layers)" "" "overlay: nothing of the layer is left"
    # Whether it can be had is tried first, in memory.
    before=$(ls -dl --time-style=full-iso /tmp/.work /tmp/.root /tmp/layer 2>&1)
    run_muster explain --overlay "$TOP/examples/mpi-example.yaml"
    is "$rc $(ls -dl --time-style=full-iso /tmp/.work /tmp/.root /tmp/layer 2>&1)" "0 $before" "overlay: explain leaves nothing anywhere"

    run_job --keep-overlay ../kept -n 2 --hosts 2 -- sh -c "$change"
    is "$rc" 0 "keep-overlay: a layer for each replica"
    for replica in worker-0 worker-1; do
        ok "keep-overlay: $replica wrote a file" test -f "../kept/$replica/etc/$probe"
        ok "keep-overlay: $replica removed a directory" test -c "../kept/$replica/usr/local/share/$probe"
    done
    # other file systems below / have layers of their own beside these
    is "$(find ../kept -mindepth 1 -maxdepth 1 ! -name '*.mounts' -printf '%f\n' | sort)" "worker-0
worker-1" "keep-overlay: nothing else is in the directory"
    ok "keep-overlay: the machine is as it was" test -e "/usr/local/share/$probe/sub/file" -a ! -e "/etc/$probe"
    run_job --keep-overlay ../kept -n 1 -- true
    is "$rc" 125 "keep-overlay: a directory with something in it is refused"
    like "$(cat "$err")" "not empty" "keep-overlay: and it says why"

    run_job --overlay --isolate network -n 1 -- sh -c "$change"
    is "$rc $(ls "/usr/local/share/$probe")" "0 sub" "overlay: isolation level network"
    run_job --overlay --isolate none -n 1 -- true
    is "$rc" 125 "overlay: isolation level none is refused"
    like "$(cat "$err")" "at isolation level .none" "overlay: with the reason"

    # A rank that mpirun starts through the agent is inside its replica's layer as well.
    cat >mpi.yaml <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: layer}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {spec: {containers: [{name: l, image: i, command: [ssh, layer-worker-1, "touch /etc/$probe; mkdir /data/in"]}]}}
    Worker:
      replicas: 2
      template:
        spec:
          containers: [{name: w, image: i, volumeMounts: [{name: v, mountPath: /data}]}]
          volumes: [{name: v, hostPath: {path: $WORK/data, type: Directory}}]
YAML
    mkdir "$WORK/data"
    run_job --keep-overlay ../agent mpi.yaml
    is "$rc" 0 "overlay: a command of the agent"
    ok "overlay: its changes are in the layer of its replica" test -e "../agent/worker-1/etc/$probe"
    ok "overlay: and not on the machine" test ! -e "/etc/$probe"
    ok "overlay: a volume is real" test -d "$WORK/data/in"

    if have_mpi openmpi; then
        sed "s|command: .*|command: [mpirun, -np, \"2\", sh, -c, 'touch /etc/$probe; ls /etc/$probe']}]}}|" \
            mpi.yaml >mpirun.yaml
        run_job --overlay mpirun.yaml
        is "$rc $(report attempts.0.ranks.#) $(grep -c "/etc/$probe" "$out")" "0 2 2" "overlay: ranks of mpirun"
        ok "overlay: their changes are thrown away" test ! -e "/etc/$probe"
    else
        skip "no Open MPI" 2
    fi

    # Nothing stays if muster is killed.
    # It stays in the list of runs as lost, which is for others to count.
    XDG_STATE_HOME=$WORK/killed "$MUSTER" run --overlay -n 1 -- sh -c "touch /etc/$probe \"\$1\"; exec sleep 60" sh "$PWD/started" >"$out" 2>&1 &
    pid=$!
    wait_until 10 test -e started
    kill -KILL $pid
    wait $pid 2>/dev/null
    gone() { [ -z "$(layers)" ]; }
    ok "overlay: the layer goes although muster was killed" wait_until 10 gone
    ok "overlay: the machine is as it was" test ! -e "/etc/$probe"
    rm -rf "/usr/local/share/$probe"
    cd "$WORK" || exit 1
else
    skip "no overlay can be mounted here: $(head -1 "$out")" 26
fi

if can_be_user; then
    user_copy
    mkdir "$USER_DIR/mine" "$USER_DIR/w"
    touch "$USER_DIR/mine/file"
    user_copy
    as_user sh -c "cd w && ../muster run --keep-overlay ../kept -n 1 -- sh -c 'rm -rf ../mine && touch ../new real && test ! -e ../mine'" \
        >"$out" 2>&1
    is $? 0 "overlay, ordinary user: the job may remove its user's files" || diag "$(cat "$out")"
    ok "overlay, ordinary user: they are still there" test -e "$USER_DIR/mine/file"
    ok "overlay, ordinary user: the working directory is real" test -e "$USER_DIR/w/real" -a ! -e "$USER_DIR/new"
    ok "overlay, ordinary user: the layer shows both" test -f "$USER_DIR/kept/worker-0$USER_DIR/new" \
        -a -c "$USER_DIR/kept/worker-0$USER_DIR/mine"
    as_user ./muster run --overlay -n 1 -- true >"$out" 2>&1
    is "$? $(layers)" "0 " "overlay, ordinary user: nothing of the layer is left"
    rm -rf "$USER_DIR"
else
    skip "cannot become an ordinary user here" 5
fi

# Without it, whoever is root is warned.
cat >host.yaml <<'YAML'
protocolVersion: 2
name: host
type: job
prerequisites: [{name: i, type: dockerimage, uri: img}]
taskRoles:
  train:
    dockerImage: i
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - rm -rf ./old
      - apt-get install -y ssh
      - pip install --user x
YAML
if [ "$(id -u)" -eq 0 ]; then
    run_muster explain host.yaml
    # shellcheck disable=SC2016 # the quotes of the message
    like "$(cat "$out")" 'warning: the job changes this machine.*: `apt-get install -y ssh` \(train, line 10\); use --overlay' \
        "a command that changes the machine is named"
    unlike "$(grep 'changes this machine' "$out")" './old|--user' "those that do not are not"
    if "$MUSTER" explain --overlay host.yaml >"$out" 2>&1; then
        unlike "$(cat "$out")" 'changes this machine' "explain --overlay: no warning"
        like "$(cat "$out")" 'each replica has a writable layer' "explain --overlay: what happens instead"
    else
        skip "no overlay can be mounted here" 2
    fi
else
    skip "only root can change the machine" 4
fi

#!/bin/sh
# muster sim --queue: a simulated day of a queue, from a file; errors in it with their places.
# shellcheck disable=SC2016 # the backquotes of messages
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1

# --- a list of jobs: one machine with 4 GPUs, all times known ---------------------------------------

cat >day.yaml <<'YAML'
machines:
  - {cpus: 8, memory: 64Gi, gpus: 4}
queues:
  - {name: prod, priority: 10, quota: {gpus: 2}}
  - {name: rest}
jobs:
  - {name: long, queue: rest, gpus: 3, duration: 1h, maxDuration: 1h}
  - {name: whole, queue: rest, at: 1m, gpus: 4, duration: 10m, maxDuration: 10m}
  - {name: short, queue: rest, at: 2m, gpus: 1, duration: 10m, maxDuration: 30m}
  - {name: late, queue: rest, at: 3m, gpus: 1, duration: 10m, maxDuration: 2h}
  - {name: next, queue: rest, at: 4m, gpus: 1, duration: 1m, after: [whole]}
YAML
run_muster sim --queue day.yaml
is "$rc $(cat "$err")" "0 " "a day is played"
like "$(cat "$out")" '^5 jobs on 1 machine, 1 h 20 min simulated$' "long, whole, late after it"
like "$(cat "$out")" '^started +5 \(1 backfilled\), 0 preempted, 0 over' "short is backfilled, late is not"
# whole waits 59 min, late 67, next 66, short and long none: 192 / 5
like "$(cat "$out")" '^wait +mean 38 min 24 s, p95 1 h 6 min, longest 1 h 7 min$' "how long they wait"
like "$(cat "$out")" '^rest +5 +5 .* 100.0%$' "a queue's part of the GPUs"
run_muster sim --queue day.yaml -o json
is "$(json mean_wait_s "$out") $(json backfilled "$out") $(json queues.1.share.gpus "$out")" "2304 1 1" "the same as JSON"
is "$(json simulated_s "$out")" 4800 "and the time"

sed 's/^machines/backfill: false\n&/' day.yaml >fifo.yaml
run_muster sim --queue fifo.yaml
like "$(cat "$out")" '^started +5 \(0 backfilled\)' "backfill: false"

# --- preemption, quotas, durations, what never starts ------------------------------------------------

cat >more.yaml <<'YAML'
machines:
  - {cpus: 8, memory: 64Gi, gpus: 4}
queues:
  - {name: prod, priority: 10, quota: {gpus: 4}}
  - {name: rest}
preemption: pause
stopTime: 10s
jobs:
  - {name: victim, queue: rest, gpus: 4, duration: 1h}
  - {name: important, queue: prod, at: 10m, gpus: 2, duration: 10m}
  - {name: exceeds, queue: prod, at: 2h, cpus: 1, duration: 2h, maxDuration: 1h}
  - {name: depends, queue: prod, at: 2h, cpus: 1, duration: 1m, after: [exceeds]}
  - {name: huge, queue: rest, memory: 96Gi, duration: 1m}
  - {name: greedy, queue: prod, replicas: 5, gpus: 1, duration: 1m}
YAML
run_muster sim --queue more.yaml
like "$(cat "$out")" '^started +3 .*, 1 preempted, 1 over their maximum duration$' "preempted and exceeded"
like "$(cat "$out")" '^not started: 3$' "three are not started"
like "$(cat "$out")" 'job [0-9]+ \(huge\): needs 96 GiB of memory, this machine has 64 GiB: it can never start$' "why"
like "$(cat "$out")" 'job [0-9]+ \(depends\): job [0-9]+ did not succeed: it can never start$' "nor one after a failure"
like "$(cat "$out")" 'job [0-9]+ \(greedy\): needs 5 GPUs, this machine has 4: it can never start$' "nor a gang too large"
sed -i 's/preemption: pause/preemption: off/' more.yaml
run_muster sim --queue more.yaml -o json
is "$(json preemptions "$out") $(json exceeded "$out")" "0 1" "preemption: off"

# --- generated jobs ------------------------------------------------------------------------------------

sed 's/count: 900/count: 9/; s/count: 100,/count: 1,/; s/count: 100000/count: 1000/; s/gpus: 4000/gpus: 40/' \
    "$TOP/examples/queue-day.yaml" >small.yaml
run_muster sim --queue small.yaml
cp "$out" first
like "$(cat first)" '^1000 jobs on 10 machines, ' "the example, a hundredth of it"
like "$(cat first)" '^started +1000 ' "all of them start"
run_muster sim --queue small.yaml
ok "the same numbers again" cmp first "$out"
run_muster sim --queue small.yaml --seed 2
differ() { ! cmp -s "$1" "$2"; }
ok "others with another seed" differ first "$out"
"$MUSTER" sim --queue - <small.yaml >"$out"
ok "from standard input" cmp first "$out"
if [ -n "$SOAK" ]; then
    LIMIT=600 run_muster sim --queue "$TOP/examples/queue-day.yaml"
    like "$(cat "$out")" '^100000 jobs on 1000 machines, ' "the whole example"
    ok "10,000 random queues" "${MUSTER%/*}/unit/queue/test/properties"
else
    skip "the whole example and 10,000 random queues: make soak" 2
fi

# --- errors --------------------------------------------------------------------------------------------

refused() # LINE MESSAGE NAME: a file day.yaml with line 9 (a job) replaced
{
    sed "9s/.*/$1/" day.yaml >bad.yaml
    run_muster sim --queue bad.yaml
    is "$rc $(cat "$out")" "2 " "refused: $3"
    like "$(cat "$err")" "$2" "says where and why"
}
refused '  - {queue: rest, gpus: 4, durations: 10m}' '^bad.yaml:9:28: error\[E0101\]: unknown key' "an unknown key"
refused '  - {queue: rest, gpus: 4}' '^bad.yaml:9:.*`duration` is required in a job' "no duration"
refused '  - {queue: rest, duration: 10}' '^bad.yaml:9:29: .*`duration` must be a duration such as' "no unit"
refused '  - {queue: rset, duration: 1m}' '^bad.yaml:9:13: .*queue "rset" not found' "no queue"
like "$(cat "$err")" 'did you mean rest' "the nearest one"
refused '  - {queue: rest, duration: 1m, memory: much}' '`memory` must be a quantity such as' "no quantity"
refused '  - {queue: rest, duration: 1m, priority: 101}' '`priority` must be (at most|from 0 to) 100' "too high a priority"
refused '  - {queue: rest, duration: 1m, gpus: 65}' '`gpus` must be (at most|from 0 to) 64' "too many GPUs"
refused '  - {queue: rest, duration: 1m, after: [nobody]}' 'job "nobody" not found' "after nobody"
printf 'machines: [{cpus: 1}]\n' >bad.yaml
run_muster sim --queue bad.yaml
like "$rc $(cat "$err")" '^2 .*`jobs` is required in the file' "no jobs"
printf 'machines: [\n' >bad.yaml
run_muster sim --queue bad.yaml
like "$rc $(cat "$err")" '^2 bad.yaml:' "no YAML"
run_muster sim --queue none.yaml
like "$rc $(cat "$err")" '^2 .*none.yaml' "no file"
run_muster sim --queue day.yaml day.yaml
like "$rc $(cat "$err")" '^2 .*no job file' "a job file, too"
run_muster sim --queue day.yaml --fail worker-0@1m:kill
like "$rc $(cat "$err")" '^2 .*cannot be combined' "what happens to one job"
run_muster sim -o json day.yaml
like "$rc $(cat "$err")" '^2 .*-o requires --queue' "-o alone"

done_testing

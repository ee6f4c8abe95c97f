#!/bin/sh
# The fuzzers' corpora, each input once: what a fuzzer found and what it starts from stays mended.
. "${0%/*}/lib.sh"

corpus=$TOP/fuzz/corpus
replay=$PROGRAMS/replay

for source in "$TOP"/fuzz/*.c; do
    name=${source##*/} name=${name%.c}
    [ "$name" != job_file ] || continue
    ok "$name" "$replay/$name" "$corpus/$name"/*
done

"$replay/job_file" --dialects >"$WORK/dialects"
while read -r dialect; do
    if ! ok "$dialect has a corpus" [ -d "$corpus/$dialect" ]; then continue; fi
    ok "$dialect" "$replay/job_file" "--dialect=$dialect" "$corpus/$dialect"/*
    like "$(cat "$WORK/ok")" ' [1-9][0-9]* lowered, [1-9][0-9]* planned' "$dialect: some of it are good jobs"
done <"$WORK/dialects"
done_testing

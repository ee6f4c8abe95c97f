#!/bin/sh
# An ordinary user trains too, at the default level and with a network per replica.
. "${0%/*}/lib.sh"
need debian
can_be_user || skip_all "not root, or no user namespaces"

stage user train_ddp.py
user_copy ./*.py ddp.yaml mpi4py.yaml
cd "$USER_DIR" || exit 1
MUSTER=$USER_DIR/muster REPORT=$USER_DIR/report.json AS=as_user
for level in names network; do
    train 4 4 ddp.yaml --isolate $level
    train 4 4 mpi4py.yaml --isolate $level
    is "$(report isolation)" $level "at level $level"
done
is "$(stat -c %u weights/0.npz)" "$USER_ID" "weights are that user's"

done_testing

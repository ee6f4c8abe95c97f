# shellcheck shell=sh disable=SC2034 # its variables are for the scripts
# http.sh - what the scripts about HTTP share.
#
#   serve ARG…              starts the daemon ($daemon, its output in serve.log) and waits until it answers
#   finish                  ends it
#   ask METHOD PATH ARG…    curl to its socket ($http), or to $via, an address: $code, the files head and body. With $answers, a
#                           file, the answer is noted for t/http_schema.py
#   ask_json METHOD PATH TEXT ARG…  with a body

http=$WORK/h/run/daemon/http.sock
via='' code='' asked=0 answers=''

serve()
{
    "$MUSTER" serve "$@" 2>>serve.log &
    daemon=$!
    wait_until 20 serves
}
serves()
{
    curl -sS -o /dev/null --unix-socket "$http" http://daemon/healthz
}
finish()
{
    kill "$daemon" && wait "$daemon"
}
ask() # METHOD PATH ARG…
{
    method=$1 path=$2
    shift 2
    : >body
    if [ -n "$via" ]; then
        code=$(curl -sS --path-as-is --max-time 30 -X "$method" -D head -o body -w '%{http_code}' "$@" "$via$path" 2>curl.err)
    else
        code=$(curl -sS --path-as-is --max-time 30 -X "$method" -D head -o body -w '%{http_code}' --unix-socket "$http" "$@" "http://daemon$path" 2>curl.err)
    fi
    [ -n "$answers" ] || return 0
    asked=$((asked + 1))
    cp body "$WORK/answer.$asked"
    echo "$method $path $code $WORK/answer.$asked" >>"$answers"
}
ask_json() # METHOD PATH TEXT ARG…
{
    method=$1 path=$2 text=$3
    shift 3
    ask "$method" "$path" -H 'Content-Type: application/json' --data-binary "$text" "$@"
}

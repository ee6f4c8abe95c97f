#!/bin/sh
# HTTP of the daemon: clients that mean no good, other users, and what is served to other machines with --listen.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/http.sh"

command -v curl >/dev/null || skip_all "curl not found"
cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h"

# --- what --listen requires
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=daemon.internal \
    -addext 'subjectAltName=DNS:daemon.internal,IP:127.0.0.1' 2>/dev/null
printf '# tokens\nan-old-token-of-somebody\n\n  the-token-0123456789  \n' >tokens
chmod 600 tokens
for left in tls-cert tls-key token-file; do
    set -- --listen 127.0.0.1:0
    [ $left = tls-cert ] || set -- "$@" --tls-cert cert.pem
    [ $left = tls-key ] || set -- "$@" --tls-key key.pem
    [ $left = token-file ] || set -- "$@" --token-file tokens
    run_muster serve "$@"
    is "$rc" 2 "--listen without --$left"
    like "$(cat "$err")" '--listen requires --tls-cert, --tls-key and --token-file' "is refused"
done
run_muster serve --token-file tokens
is "$rc" 2 "a token file without --listen"
refused() # WHY NAME: with the token file as it is
{
    run_muster serve --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --token-file tokens
    is "$rc" 1 "$2"
    like "$(cat "$err")" "$1" "is refused"
}
chmod 640 tokens
refused '--token-file: tokens must be a file of uid [0-9]+ with mode 0600' "a token file that others can read"
chmod 600 tokens
if [ "$(id -u)" -eq 0 ]; then
    chown nobody tokens
    refused 'must be a file of uid 0 with mode 0600' "one of somebody else"
    chown root tokens
else
    skip "not root" 2
fi
mv tokens kept
ln -s kept tokens
refused '--token-file: cannot read tokens' "a link"
rm tokens
printf '# none\n' >tokens
chmod 600 tokens
refused 'tokens has no token' "one without tokens"
echo short >tokens
refused 'a token must have at least 16 characters' "a token that can be guessed"
mv kept tokens
run_muster serve --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key tokens --token-file tokens
is "$rc" 1 "no key"
run_muster serve --listen nowhere --tls-cert cert.pem --tls-key key.pem --token-file tokens
is "$rc" 1 "no address"

# --- HTTPS
ok "a daemon that listens" serve --cpus 4 --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem --token-file tokens
port=$(sed -n 's/.*HTTPS on port \([0-9]*\)$/\1/p' serve.log)
via=https://127.0.0.1:$port
tls() # METHOD PATH ARG…
{
    ask "$@" --cacert cert.pem
}
tls GET /api/v1/version
is "$code $(json error.code body)" "401 unauthorized" "a request without a token"
tls GET /api/v1/version -H 'Authorization: Bearer the-token-0123456789'
is "$code" 200 "with a token" || cat curl.err
tls GET /api/v1/version -H 'Authorization: Bearer an-old-token-of-somebody'
is "$code" 200 "with the other one"
for token in the-token-012345678 the-token-01234567890 '# tokens' ''; do
    tls GET /api/v1/version -H "Authorization: Bearer $token"
    is "$code" 401 "the token \"$token\" is none"
done
tls GET /healthz
is "$code" 200 "health needs no token"
tls GET /metrics
is "$code" 401 "metrics do"
tls GET /api/v1/version -H 'Authorization: Bearer the-token-0123456789' -H 'Host: evil.example'
is "$code" 403 "another host is refused"
tls GET /api/v1/version -H 'Authorization: Bearer the-token-0123456789' -H "Host: daemon.internal:$port"
is "$code" 200 "the certificate's is not"
tls POST /api/v1/session -H 'Content-Type: application/json' --data-binary '{"once":"the-token-0123456789"}'
is "$code" 410 "a token is no key"
via=http://127.0.0.1:$port
ask GET /healthz
is "$code" 000 "plain HTTP is not spoken there"
via=''
run_muster open --no-browser
local=$(sed 's|/#.*||' "$out")
via=$local
ask GET /api/v1/version -H 'Authorization: Bearer the-token-0123456789'
is "$code" 401 "such a token is none on the page's port"
via=''

# --- other users
if can_be_user; then
    chmod 711 "$WORK" "$WORK/h" "$WORK/h/run" "$WORK/h/run/daemon"
    chmod 666 "$http"
    try() # ARG…
    {
        setpriv --reuid="$USER_ID" --clear-groups curl -sS --max-time 20 "$@" 2>/dev/null
    }
    for path in /api/v1/version /healthz / /api/v1/jobs; do
        is "$(try -o /dev/null -w '%{http_code}' --unix-socket "$http" "http://daemon$path")" 403 "another user on the socket: $path"
    done
    like "$(try --unix-socket "$http" http://daemon/api/v1/version)" 'only uid 0 and root may use this daemon' "is told why"
    is "$(try -o /dev/null -w '%{http_code}' "$local/api/v1/jobs")" 401 "another user on the page's port"
    is "$(try -X POST -d '{"argv":["--","true"]}' -o /dev/null -w '%{http_code}' "$local/api/v1/jobs")" 401 "cannot submit"
    chmod 600 "$http"
    chmod 700 "$WORK/h/run/daemon" "$WORK/h/run" "$WORK/h" "$WORK"
else
    skip "no other user here" 7
fi

# --- clients that mean no good
line=$(head -c 1000 /dev/zero | tr '\0' y)
"$MUSTER" submit -n 1 -- sh -c "while :; do echo $line; echo $line; echo $line; sleep 0.001; done" >id
writes() { ask GET "/api/v1/jobs/$(cat id)/logs?tail=1" && [ "$(json lines.# body)" = 1 ]; }
ok "a job that writes" wait_until 20 writes
python3 "$TOP/t/lib/http_hostile.py" "$http" "$(cat id)" ${MUSTER_TEST_SEED:+"$MUSTER_TEST_SEED"} >tried 2>&1
while read -r word name; do
    case $word in
    ok) result 0 "$name" "" ;;
    '#') diag "$name" ;;
    *) result 1 "$name" "$word $name" ;;
    esac
done <tried
is "$(grep -c '^ok ' tried)" 39 "all of these were tried" || tail -n 5 tried
if [ -z "${MUSTER_SAN:-}" ]; then
    memory=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$daemon/status")
    ok "with no more than 64 MiB of memory" test "$memory" -lt 65536
else
    skip "sanitizers"
fi
ok "no worker is left" wait_until 30 sh -c "! pgrep -P $daemon -f -- --work"
"$MUSTER" cancel "$(cat id)" >/dev/null
like "$("$MUSTER" list)" "$(cat id)" "other verbs are answered"
finish
is "$?" 0 "the daemon ends"
unlike "$(cat serve.log)" 'the-token|old-token' "tokens are in no log"
unlike "$(cat serve.log)" Sanitizer "and nothing was found"
done_testing

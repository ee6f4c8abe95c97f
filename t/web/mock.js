#!/usr/bin/env node
// mock.js - a daemon that only exists as HTTP (doc/design/api.md): what a real one cannot have within a
// test: 10,000 jobs, 4,096 ranks, a hang, logs that try to do harm. Prints the one-time link.
//
//     node t/web/mock.js [--jobs N] [--ranks N]
"use strict";
const http = require("http");
const fs = require("fs");
const path = require("path");
const crypto = require("crypto");

const arg = (name, or) => {
    const i = process.argv.indexOf(name);
    return i < 0 ? or : Number(process.argv[i + 1]);
};
const JOBS = arg("--jobs", 10000), RANKS = arg("--ranks", 4096);
const WEB = path.join(__dirname, "../../src/web");
const T0 = Date.now();
const at = s => new Date(T0 + s * 1000).toISOString();
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// --- jobs ----------------------------------------------------------------------------------------

const rank = (n, per, outcome, exit_code, signal, from, to) => ({rank: n, replica: `worker-${Math.floor(n / per)}`, outcome,
    exit_code, signal, started: at(from), ended: to === null ? null : at(to), log: `worker-${Math.floor(n / per)}.rank-${n}.log`});
const replica = (i, per, outcome, exit_code, signal, from, to, more) => ({name: `worker-${i}`, role: "worker", index: i,
    host: `node${String(i % 64).padStart(2, "0")}`, restarts: 0, outcome, exit_code, signal, stopped_because_of: null, started: at(from),
    ended: to === null ? null : at(to), logs: Array.from({length: per}, (_, k) => `worker-${i}.rank-${i * per + k}.log`),
    max_rss: 3e9 + i * 1e7, ...more});
const cause = (i, rnk, kind, code, signal, t, message, tail) => ({replica: `worker-${i}`, role: "worker", index: i, rank: rnk, kind,
    exit_code: code, signal, at: at(t), message, log_tail: tail});

function attempt(number, from, to, replicas, per, bad, why, restarts) {
    const reps = [], ranks = [];
    for (let i = 0; i < replicas; i++) {
        const fails = bad !== null && Math.floor(bad / per) === i;
        const outcome = to === null ? null : bad === null ? "succeeded" : fails ? "failed" : "stopped";
        reps.push(replica(i, per, outcome, fails ? 3 : outcome === "succeeded" ? 0 : null, outcome === "stopped" ? "SIGTERM" : null,
            from + i * 0.01, to === null ? null : fails ? to - 2 : to - 1.5 + (i % 5) * 0.1,
            {restarts: restarts && restarts[i] || 0, stopped_because_of: outcome === "stopped" ? `worker-${Math.floor(bad / per)}` : null}));
        for (let k = 0; k < per; k++) {
            const n = i * per + k, f = n === bad;
            const o = to === null ? null : bad === null ? "succeeded" : f ? "failed" : "stopped";
            ranks.push(rank(n, per, o, f ? 3 : o === "succeeded" ? 0 : null, o === "stopped" ? "SIGTERM" : null, from + i * 0.01,
                to === null ? null : f ? to - 2 : to - 1.4 + (i % 5) * 0.1));
        }
    }
    return {number, outcome: to === null ? null : bad === null ? "succeeded" : "failed", cause: why, started: at(from),
        ended: to === null ? null : at(to), replicas: reps, ranks};
}

const TAIL = ["step 1180 loss 2.4180 lr 3.0e-04", "Traceback (most recent call last):", "  File \"train.py\", line 212, in <module>",
    "    loss.backward()", "\u001b[31mRuntimeError: CUDA error: an illegal memory access was encountered\u001b[0m"];

function report(job, more) {
    return {version: 1, job: {name: job.name, dialect: job.dialect, framework: "pytorch", run_id: job.id}, engine: "local",
        isolation: "names", run_dir: `/home/ada/.local/state/muster/runs/${job.id}`, phase: job.phase, waiting: job.waiting,
        queue: job.queue, priority: job.priority, place: job.place, submitted: job.submitted, outcome: job.outcome,
        exit_code: job.exit_code, verdict: job.verdict, cause: null, status: {}, attempts: [], outputs: [], ...more};
}

let serial = 0;
function listed(name, phase, outcome, more) {
    serial++;
    const n = serial;
    return {id: `20261118-${String(100000 + n)}-${(n * 7919 % 1679616).toString(36).padStart(4, "0")}`, name, dialect: "muster-v1", phase,
        outcome, exit_code: outcome === "failed" ? 3 : outcome ? 0 : null, queue: "default", priority: 0, submitted: at(-n * 40),
        started: phase === "waiting" ? null : at(-n * 40 + 3), ended: outcome ? at(-n * 40 + 900 + n % 700) : null, waiting: null, place: null,
        source: "daemon", ranks: {total: 8, running: outcome || phase === "waiting" ? 0 : 8, succeeded: outcome === "succeeded" ? 8 : 0,
            failed: outcome === "failed" ? 1 : 0}, verdict: null, restarts: 0, ...more};
}

const reports = new Map(), hangs = new Map(), logs = new Map();
const jobs = [];
function put(job, more) {
    jobs.push(job);
    reports.set(job.id, () => report(job, typeof more === "function" ? more() : more));
    return job;
}

{
    const per = 8, n = RANKS / per, j = listed("pretrain-7b", "running", null, {dialect: "kubeflow-pytorch", queue: "research", priority: 5,
        submitted: at(-7300), started: at(-7200), ranks: {total: RANKS, running: RANKS - 3, succeeded: 0, failed: 0}, restarts: 2});
    const a = attempt(2, -3600, null, n, per, null, null, {3: 1, 17: 1});
    const c = cause(40, 327, "gone", null, null, -3662, "worker-40 disappeared: node40 no longer answers", []);
    const first = attempt(1, -7200, -3660, n, per, 327, c, null);
    j.big = true;
    put(j, () => ({attempts: [first, a], live: {attempt: 2, doing: `${RANKS - 3} of ${RANKS} ranks running; last output 0.4 s ago`,
        replicas: a.replicas.map((r, i) => ({name: r.name, role: r.role, index: r.index, host: r.host, state: i === 9 ? "starting" : "running",
            restarts: r.restarts, exit_code: null, signal: null, since: r.started, message: i === 17 ? "restarted: exit status 1" : null,
            gpus: ["0", "1", "2", "3", "4", "5", "6", "7"]})),
        ranks: a.ranks.map(r => ({rank: r.rank, replica: r.replica, state: r.rank === 72 ? "starting" : r.rank % 1000 === 999 ? "paused" : "running",
            exit_code: null, signal: null, since: r.started}))}}));
}
{
    const j = listed("finetune-bert", "ended", "failed", {submitted: at(-4000), started: at(-3900), ended: at(-600), queue: "research",
        verdict: "failed: rank 5 on worker-1 exited with status 3 after 18 min 20 s; retried 2 times", restarts: 3, dialect: "openpai-v2",
        ranks: {total: 16, running: 0, succeeded: 0, failed: 1}});
    const c1 = cause(2, 9, "exit", 3, null, -2902, "rank 9 on worker-2 exited with status 3", TAIL);
    const c2 = cause(3, null, "gone", null, null, -1752, "worker-3 disappeared", []);
    const c3 = cause(1, 5, "exit", 3, null, -602, "rank 5 on worker-1 exited with status 3", TAIL);
    put(j, {cause: c3, attempts: [attempt(1, -3900, -2900, 4, 4, 9, c1, {1: 2}), attempt(2, -2880, -1750, 4, 4, 13, c2, null),
        attempt(3, -1700, -600, 4, 4, 5, c3, {0: 1})]});
}
{
    const j = listed("allreduce-hang", "ended", "failed", {submitted: at(-2000), started: at(-1990), ended: at(-1200), exit_code: 124,
        verdict: "failed: no output and no I/O for 5 min; 7 ranks wait for rank 3"});
    put(j, {cause: cause(0, 3, "hang", null, null, -1203, "7 ranks wait for rank 3, which waits for nobody", ["step 311", "sleeping"]),
        attempts: [attempt(1, -1990, -1200, 2, 4, 3, null, null)]});
    hangs.set(j.id, {text: "7 ranks wait for rank 3.\nrank 3 on worker-0: in load_batch (data.py:88)\n", waits: [
        ...[0, 1, 2, 4, 5, 6].map(r => ({rank: r, replica: `worker-${r >> 2}`, place: "all_reduce (train.py:141)", for: [3]})),
        {rank: 7, replica: "worker-1", place: "barrier (train.py:150)", for: [0, 3]},
        {rank: 3, replica: "worker-0", place: "load_batch (data.py:88)", for: []}]});
}
{
    const j = listed("<img src=x onerror=alert(1)>", "running", null, {started: at(-60), submitted: at(-70)});
    const a = attempt(1, -60, null, 1, 4, null, null, null);
    put(j, () => ({attempts: [a], live: {attempt: 1, doing: "4 of 4 ranks running", replicas: a.replicas.map(r => ({...r, state: "running", since: r.started,
        message: null})), ranks: a.ranks.map(r => ({...r, state: "running", since: r.started}))}}));
    const evil = ["<script>window.hacked=1</script>", "\u001b]0;title\u0007\u001b[2J\u001b[31;1mred bold\u001b[0m plain \u001b[38;5;208morange\u001b[38;2;10;200;30mgreen\u001b[m",
        "<img src=x onerror=\"window.hacked=1\">", "progress 1%\rprogress 50%\rprogress 100%", "bad \ufffd\ufffd utf-8", "\u202egnp.exe right to left",
        "nul \u0000 bell \u0007 \u0008\u0008 \u001bP dcs \u001b\\ after", "wide 漢字 and combining e\u0301 and 👩‍👩‍👧", "x".repeat(65536), "javascript:alert(1) http://example.invalid/"];
    logs.set(j.id, n => evil[n % evil.length]);
    j.flood = true;
}
put(listed("eval-nightly", "paused", null, {waiting: "paused by ada", started: at(-500)}), {attempts: []});
for (let i = 0; i < 12; i++)
    put(listed(`sweep-lr-${i}`, "waiting", null, {waiting: `needs 4 GPUs, ${i % 3} free; ahead: ${i} jobs`, place: i + 1, submitted: at(-300 + i),
        queue: i % 2 ? "research" : "default", ranks: {total: 4, running: 0, succeeded: 0, failed: 0}}), {attempts: []});
put(listed("notebook", "running", null, {source: "run", started: at(-90), queue: null, ranks: {total: 2, running: 2, succeeded: 0, failed: 0}}), {attempts: []});
const WORDS = ["train", "eval", "prep", "export", "bench", "walk"];
for (let i = jobs.length; i < JOBS; i++) {
    const outcome = i % 17 === 0 ? "failed" : i % 41 === 0 ? "cancelled" : i % 501 === 0 ? "lost" : "succeeded";
    const j = listed(`${WORDS[i % 6]}-${i}`, "ended", outcome, {verdict: outcome === "failed" ? `failed: rank ${i % 8} on worker-${i % 2} exited with status 3 after 12.4 s` :
        outcome === "lost" ? "lost: the supervisor was killed" : null, queue: i % 3 ? "default" : "research"});
    put(j, {cause: outcome === "failed" ? cause(i % 2, i % 8, "exit", 3, null, -i * 40 + 40, `rank ${i % 8} exited with status 3`, TAIL) : null,
        attempts: [attempt(1, -i * 40, -i * 40 + 900 + i % 700, 2, 4, outcome === "failed" ? i % 8 : null, null, null)]});
}

const stateOf = j => j.outcome || j.phase;
function counts() {
    const c = {waiting: 0, running: 0, paused: 0, succeeded: 0, failed: 0, cancelled: 0, lost: 0};
    for (const j of jobs)
        c[stateOf(j)]++;
    return c;
}

// --- logs ----------------------------------------------------------------------------------------

const LINES = 2000;
function logLine(job, r, n) {
    const own = logs.get(job.id);
    const rep = reports.get(job.id)(), last = rep.attempts[rep.attempts.length - 1];
    const rk = last && last.ranks[r] || {replica: "worker-0", log: "worker-0.log"};
    const text = own ? own(n) : n === LINES - 1 && rep.cause && rep.cause.rank === r ? TAIL[4] :
        `step ${n} loss \u001b[33m${(8 / (1 + n / 300)).toFixed(4)}\u001b[0m ${100 + n % 37} samples/s rank ${r}`;
    return {at: at(-LINES + n), replica: rk.replica, rank: r, attempt: 1, text, log: rk.log, offset: n * 64};
}

function lines(job, q) {
    const rep = reports.get(job.id)(), last = rep.attempts[rep.attempts.length - 1];
    const total = q.get("rank") === null ? Math.min(8, last ? last.ranks.length : 1) : 1;
    const one = q.get("rank") === null ? 0 : Number(q.get("rank"));
    const tail = Math.min(Number(q.get("tail") || 500), 2000);
    const all = LINES * total;
    let from, to;
    // MS.OFFSET.LOG is the place of a line; the number of the line at it or after it.
    const place = text => {
        const [, ms, offset, name] = /^(\d+)\.(\d+)\.(.*)$/.exec(text);
        const n = name ? Number(offset) / 64 : (Number(ms) - T0) / 1000 + LINES;
        return total === 1 ? n : n * total + (name ? Number(/rank-(\d+)/.exec(name)[1]) : 0);
    };
    if (q.get("before")) {
        to = Math.ceil(place(q.get("before")));
        from = Math.max(0, to - tail);
    } else if (q.get("after")) {
        from = Math.ceil(place(q.get("after")) + (/^\d+\.\d+\.$/.test(q.get("after")) ? 0 : 1 / 64));
        to = Math.min(all, from + tail);
    } else {
        to = all;
        from = Math.max(0, all - tail);
    }
    let out = [];
    for (let i = from; i < to; i++)
        out.push(total === 1 ? logLine(job, one, i) : logLine(job, i % total, Math.floor(i / total)));
    if (q.get("grep"))
        out = out.filter(l => l.text.includes(q.get("grep")));
    const cursor = i => {
        const l = total === 1 ? logLine(job, one, i) : logLine(job, i % total, Math.floor(i / total));
        return `${Date.parse(l.at)}.${l.offset}.${l.log}`;
    };
    return {lines: out, before: from > 0 ? cursor(from) : null, after: cursor(Math.max(0, to - 1)), incomplete: null};
}

// --- HTTP ----------------------------------------------------------------------------------------

const TYPES = {html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml"};
const sessions = new Map(); // id: key
const tokens = new Set();
const once = crypto.randomBytes(12).toString("hex");
const many = process.argv.includes("--reusable");
const sha = x => crypto.createHash("sha256").update(x).digest();

function asset(name, req, res) {
    const file = path.join(WEB, path.basename(name));
    if (!fs.existsSync(file))
        return answer(res, 404, {error: {code: "not-found", message: "no such file", hint: null}});
    const body = fs.readFileSync(file), etag = `"${sha(body).toString("hex").slice(0, 16)}"`;
    const headers = {"Content-Type": `${TYPES[name.split(".").pop()]}; charset=utf-8`, ETag: etag, "Cache-Control": "no-cache",
        "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"};
    if (req.headers["if-none-match"] === etag)
        res.writeHead(304, headers).end();
    else
        res.writeHead(200, headers).end(body);
}

function answer(res, status, body) {
    res.writeHead(status, {"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"});
    res.end(body === undefined ? "" : JSON.stringify(body));
}
const fail = (res, status, code, message, hint) => answer(res, status, {error: {code, message, hint: hint || null}});

const DIAG = text => {
    const diagnostics = [];
    text.split("\n").forEach((l, i) => {
        const m = /\b(replcas|imagee|comand)\b/.exec(l);
        if (m)
            diagnostics.push({severity: "error", code: "E0101", line: i + 1, column: m.index + 1, path: `.${m[1]}`, message: `unknown key \`${m[1]}\``,
                hint: `did you mean \`${m[1] === "replcas" ? "replicas" : m[1] === "imagee" ? "image" : "command"}\`?`});
        if (/image:/.test(l))
            diagnostics.push({severity: "note", code: "N0301", line: i + 1, column: l.indexOf("image") + 1, path: ".image",
                message: "the image is not used; running with what is installed on this machine", hint: null});
    });
    const verdict = !/apiVersion/.test(text) ? "notjob" : diagnostics.some(d => d.severity === "error") ? "reject" : "accept";
    return {file: "job.yaml", verdict, dialect: verdict === "notjob" ? null : "muster-v1", diagnostics};
};

const EXPLAIN = {jobs: [{name: "demo", dialect: "muster-v1", framework: "pytorch", isolation: "names", roles: [{name: "worker", replicas: 2, slots: 2}],
    processes: [0, 1, 2, 3].map(r => ({replica: `worker-${r >> 1}`, role: "worker", index: r >> 1, rank: r, local_rank: r & 1, host: `demo-worker-${r >> 1}`,
        address: `127.1.0.${1 + (r >> 1)}`, ports: {master: 29500}, argv: ["python3", "train.py", "--lr", "3e-4"], shell: null, workdir: "/home/ada/work",
        env: {RANK: String(r), WORLD_SIZE: "4", MASTER_ADDR: "127.1.0.1", MASTER_PORT: "29500", WANDB_API_KEY: "***", OMP_NUM_THREADS: "1"},
        env_origin: {RANK: "framework", WORLD_SIZE: "framework", MASTER_ADDR: "framework", MASTER_PORT: "framework", WANDB_API_KEY: "job", OMP_NUM_THREADS: "muster"}})),
    notes: [{severity: "note", message: "worker: 2 replicas instead of 8 (--fit)"}, {severity: "warning", message: "image pytorch:2.1 is not used; running with what is installed on this machine"}]}],
changes: ["worker: 2 replicas instead of 8 (--fit)"]};
const FILE = "apiVersion: muster/v1\nname: demo\nframework: pytorch\nroles:\n  worker:\n    replicas: 2\n    slots: 2\n    image: pytorch:2.1\n    command: [python3, train.py]\n";

function api(req, res, url, body) {
    const q = url.searchParams, p = url.pathname.slice("/api/v1/".length).split("/").map(decodeURIComponent);
    if (p[0] === "session" && p[1] === "proof") {
        const key = sessions.get(body.id);
        return key ? answer(res, 200, {proof: crypto.createHmac("sha256", key).update(`muster-session\n${req.headers.host}\n${body.nonce}`).digest("hex")}) :
            fail(res, 404, "not-found", "session not found");
    }
    if (p[0] === "session") {
        if (body.once !== once || (sessions.size && !many))
            return fail(res, 410, "gone", "the one-time key was used");
        const token = crypto.randomBytes(24).toString("hex");
        tokens.add(token);
        sessions.set(sha(sha(token)).toString("hex").slice(0, 16), sha(token));
        return answer(res, 200, {token, expires: at(43200)});
    }
    if (!tokens.has((req.headers.authorization || "").replace("Bearer ", "")))
        return fail(res, 401, "unauthorized", "no session");
    if (p[0] === "version")
        return answer(res, 200, {version: "0.1.0", commit: "mock", api: 1, user: "ada", host: "node00", now: new Date().toISOString()});
    if (p[0] === "validate")
        return answer(res, 200, DIAG(body.text));
    if (p[0] === "explain") {
        const d = DIAG(body.text);
        return d.verdict === "accept" ? answer(res, 200, EXPLAIN) : answer(res, 422, {error: {code: "invalid-job", message: "rejected", hint: null, diagnostics: d.diagnostics}});
    }
    if (p[0] === "queue")
        return answer(res, 200, {machine: {cpus: 64, memory: 512 * 2 ** 30, gpus: Array.from({length: 8}, (_, i) => ({id: `GPU-${i}`, name: "NVIDIA A100-SXM4-40GB", job: i < 6 ? jobs[0].id : null})),
            used: {cpus: 41, memory: 310 * 2 ** 30, gpus: 6}},
        queues: [{name: "default", weight: 1, priority: 0, quota: null, share: 0.22, running: 2, waiting: 6},
            {name: "research", weight: 3, priority: 10, quota: {cpus: 48, gpus: 8}, share: 0.61, running: 1, waiting: 6}],
        running: jobs.filter(j => stateOf(j) === "running"), waiting: jobs.filter(j => j.phase === "waiting").map(j => ({...j, ahead: j.place - 1, latest: j.place < 4 ? at(3600 * j.place) : null}))});
    if (p[0] === "stream")
        return stream(req, res, q);
    if (p[0] !== "jobs")
        return fail(res, 404, "not-found", "no such route");
    if (!p[1] && req.method === "POST")
        return answer(res, 201, {ids: [jobs[0].id], notes: []});
    if (!p[1]) {
        const states = (q.get("state") || "").split(",").filter(x => x), text = q.get("q") || "", limit = Number(q.get("limit") || 100), from = Number(q.get("after") || 0);
        let list = jobs.filter(j => (!states.length || states.includes(stateOf(j))) && (!text || j.name.includes(text) || j.id.includes(text)) &&
            (!q.get("queue") || j.queue === q.get("queue")));
        if (q.get("sort") === "name")
            list = [...list].sort((a, b) => a.name < b.name ? -1 : 1);
        return answer(res, 200, {jobs: list.slice(from, from + limit), total: list.length, counts: counts(), next: from + limit < list.length ? String(from + limit) : null});
    }
    const job = jobs.find(j => j.id === p[1]);
    if (!job)
        return fail(res, 404, "not-found", `job "${p[1]}" not found`);
    const rep = reports.get(job.id)();
    switch (p[2]) {
    case undefined:
        return answer(res, 200, rep);
    case "events":
        return answer(res, 200, {events: rep.attempts.flatMap((a, i) => [{seq: i * 3 + 1, at: a.started, type: "started", replica: null, rank: null, attempt: a.number, message: `attempt ${a.number}`},
            ...(a.cause ? [{seq: i * 3 + 2, at: a.cause.at, type: "exited", replica: a.cause.replica, rank: a.cause.rank, attempt: a.number, message: a.cause.message}] : [])])
            .concat(job.big ? [{seq: 90, at: at(-2000), type: "pause", replica: null, rank: null, attempt: 2, message: "paused"}, {seq: 91, at: at(-1500), type: "resume", replica: null, rank: null, attempt: 2, message: "resumed"},
                {seq: 92, at: at(-1000), type: "restart", replica: "worker-17", rank: null, attempt: 2, message: "exit status 1"}] : [])});
    case "logs":
        return answer(res, 200, lines(job, q));
    case "plan": {
        const from = Number(q.get("from") || 0), n = Number(q.get("n") || 100);
        const total = Math.max(1, job.ranks.total);
        const processes = Array.from({length: Math.max(0, Math.min(n, total - from))}, (_, i) => ({...EXPLAIN.jobs[0].processes[0], rank: from + i, replica: `worker-${(from + i) >> 3}`}));
        return answer(res, 200, {jobs: [{...EXPLAIN.jobs[0], processes}], total});
    }
    case "file":
        return answer(res, 200, {file: "demo.yaml", text: FILE, validate: DIAG(FILE)});
    case "usage": {
        const ms = Array.from({length: 30}, (_, i) => i * 1000), last = rep.attempts[rep.attempts.length - 1];
        return answer(res, 200, {ms, ranks: (last ? last.ranks : []).map(r => ({rank: r.rank, replica: r.replica, cpu: ms.map((_, i) => 60 + 35 * Math.sin(i / 4 + r.rank) + (r.rank % 97 === 5 ? -55 : 0)),
            memory: ms.map((_, i) => 2e9 + i * 3e7 + r.rank * 1e5), read: ms.map(() => 1e6), written: ms.map(() => 2e5)}))});
    }
    case "hang":
        return hangs.has(job.id) ? answer(res, 200, hangs.get(job.id)) : fail(res, 404, "not-found", "no hang report");
    case "pause": case "resume": case "cancel":
        job.phase = {pause: "paused", resume: "running", cancel: "ended"}[p[2]];
        if (p[2] === "cancel")
            job.outcome = "cancelled";
        publish(job);
        return answer(res, 202, {phase: job.phase});
    case "retry":
        return answer(res, 201, {ids: [job.id]});
    default:
        return fail(res, 404, "not-found", "no such route");
    }
}

const streams = new Set();
function publish(job) {
    for (const s of streams) {
        if (!s.job)
            s.send("jobs", {changed: [job], removed: [], counts: counts()});
        else if (s.job === job)
            s.send("job", reports.get(job.id)());
    }
}

function stream(req, res, q) {
    const job = q.get("job") ? jobs.find(j => j.id === q.get("job")) : null;
    if (q.get("job") && !job)
        return fail(res, 404, "not-found", "job not found");
    res.writeHead(200, {"Content-Type": "text/event-stream", "Cache-Control": "no-store"});
    let n = 0;
    const me = {job, send: (type, data) => res.write(`event: ${type}\nid: ${++n}\ndata: ${JSON.stringify(data)}\n\n`)};
    streams.add(me);
    res.write(`id: 0\ndata:\n\n`);
    const timers = [setInterval(() => res.write(": here\n\n"), 15000)];
    if (job) {
        me.send("job", reports.get(job.id)());
        if (job.outcome) {
            me.send("end", {});
        } else if (q.get("logs")) {
            let i = LINES;
            timers.push(setInterval(() => {
                const out = [];
                for (let k = 0; k < (job.flood ? 500 : 3); k++)
                    out.push(logLine(job, i++ % 4, i));
                // The long ones are few, or a second has 25 MB.
                me.send("lines", {lines: job.flood ? out.map(l => l.text.length > 1000 && i % 20000 > 600 ? {...l, text: "long"} : l) : out, dropped: job.flood ? 2000 : 0});
            }, 250));
        }
    }
    req.on("close", () => {
        streams.delete(me);
        timers.forEach(clearInterval);
    });
}

const server = http.createServer((req, res) => {
    const url = new URL(req.url, "http://x");
    const chunks = [];
    req.on("data", c => chunks.push(c));
    req.on("end", () => {
        if (url.pathname === "/")
            return asset("index.html", req, res);
        if (url.pathname.startsWith("/assets/"))
            return asset(url.pathname.slice(8), req, res);
        if (!url.pathname.startsWith("/api/v1/"))
            return fail(res, 404, "not-found", "not found");
        let body = {};
        try {
            body = chunks.length ? JSON.parse(Buffer.concat(chunks)) : {};
        } catch { /* an empty one will do */ }
        return api(req, res, url, body);
    });
});
server.listen(arg("--port", 0), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/#once=${once}`));
if (!process.argv.includes("--stay"))
    process.stdin.on("end", () => process.exit(0)).resume();

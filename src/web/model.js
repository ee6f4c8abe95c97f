// model.js - rows of replicas and ranks out of a report, what is live, the usage and the plan. Pure.
import {canonical} from "./states.js";

function times(x) {
    return {from: x.started || x.since || null, to: x.ended || null};
}

// The attempt that is shown: the one asked for, else the last.
export function attemptOf(report, number) {
    const list = report.attempts || [];
    return list.find(a => a.number === number) || list[list.length - 1] || null;
}

function joined(past, now, key) {
    const rows = new Map();
    for (const p of past || [])
        rows.set(p[key], {past: p, now: null});
    for (const n of now || []) {
        const r = rows.get(n[key]) || {past: null};
        r.now = n;
        rows.set(n[key], r);
    }
    return rows;
}

function row(past, now) {
    const p = past || {}, n = now || {};
    return {state: p.outcome || n.state || (p.ended ? "stopped" : p.started ? "running" : "waiting"), exit_code: p.exit_code ?? n.exit_code ?? null,
        signal: p.signal || n.signal || null, message: n.message || (p.stopped_because_of ? `stopped because of ${p.stopped_because_of}` : ""),
        gpus: n.gpus || p.gpus || null, ...times({...n, ...p})};
}

export function replicaRows(report, attempt, live) {
    const cause = attempt && attempt.cause || report.cause;
    return [...joined(attempt && attempt.replicas, live && live.replicas, "name").values()].map(({past, now}) => {
        const x = {...(now || {}), ...(past || {})};
        return {...row(past, now), name: x.name, role: x.role, index: x.index, host: x.host || "", restarts: Math.max(past && past.restarts || 0, now && now.restarts || 0),
            memory: past && past.max_rss > 0 && past.ended ? past.max_rss : null, cpu: null, first: !!cause && cause.replica === x.name};
    });
}

export function rankRows(report, attempt, live) {
    const cause = attempt && attempt.cause || report.cause;
    const hosts = new Map(replicaRows(report, attempt, live).map(r => [r.name, r]));
    return [...joined(attempt && attempt.ranks, live && live.ranks, "rank").values()].map(({past, now}) => {
        const x = {...(now || {}), ...(past || {})}, rep = hosts.get(x.replica);
        return {...row(past, now), rank: x.rank, replica: x.replica, host: rep ? rep.host : "", restarts: x.restarts ?? null, gpus: rep && rep.gpus || null,
            message: now && now.message || "", memory: past && past.max_rss > 0 ? past.max_rss : null, cpu: null,
            first: !!cause && cause.rank !== null && cause.rank === x.rank};
    }).sort((a, b) => a.rank - b.rank);
}

// Usage of ranks, or of replicas where these have none; a replica with ranks has their sum.
export function addUsage(replicas, ranks, usage) {
    if (!usage || !usage.ranks)
        return;
    const of = new Map(ranks.map(r => [r.rank, r]));
    const sums = new Map(replicas.map(r => [r.name, {r, cpu: null, memory: null}]));
    for (const u of usage.ranks) {
        const n = Math.max((u.cpu || []).length, (u.memory || []).length);
        if (!n)
            continue;
        const cpu = u.cpu && u.cpu[u.cpu.length - 1], memory = u.memory && u.memory[u.memory.length - 1];
        const r = u.rank === null || u.rank === undefined ? null : of.get(u.rank);
        if (r) {
            r.cpu = cpu ?? null;
            r.memory = memory ?? r.memory;
            r.cpus = u.cpu;
            r.read = lastOf(u.read);
            r.written = lastOf(u.written);
        }
        const sum = sums.get(u.replica);
        if (sum) {
            sum.cpu = (sum.cpu || 0) + (cpu || 0);
            sum.memory = (sum.memory || 0) + (memory || 0);
            sum.cpus = sum.cpus || (u.cpu || []).map(() => 0);
            (u.cpu || []).forEach((v, i) => {
                sum.cpus[i] = (sum.cpus[i] || 0) + v;
            });
        }
    }
    for (const {r, cpu, memory, cpus} of sums.values()) {
        r.cpu = cpu ?? r.cpu;
        r.memory = memory ?? r.memory;
        r.cpus = cpus;
    }
}

function lastOf(list) {
    return list && list.length ? list[list.length - 1] : null;
}

export function stateCounts(rows) {
    const n = {};
    for (const r of rows)
        n[canonical(r.state)] = (n[canonical(r.state)] || 0) + 1;
    return n;
}

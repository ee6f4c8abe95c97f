// timeline_layout.js - where everything of a time line is: a pure function of the report, the events
// and a width. timeline.js draws what comes out.

import {duration} from "./format.js";

export const ROW = 22, AXIS = 26;
const RIGHT = 18, MOST_ROWS = 16;

const time = x => x ? Date.parse(x) : NaN;

// Steps that people count in.
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 108e5, 216e5,
    432e5, 864e5, 1728e5, 6048e5];

export function ticks(from, to, width) {
    const room = Math.max(2, Math.floor(width / 90));
    const step = STEPS.find(s => (to - from) / s <= room) || 6048e5;
    const out = [];
    for (let ms = 0; ms <= to - from && out.length < 200; ms += step)
        out.push({ms, label: ms === 0 ? "0" : axisWords(ms, step)});
    return out;
}

function axisWords(ms, step) {
    if (step < 1000)
        return ms % 1000 === 0 ? `${ms / 1000} s` : ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(step < 100 ? 2 : 1)} s`;
    if (step < 60000)
        return ms % 60000 === 0 ? `${ms / 60000} min` : ms < 60000 ? `${ms / 1000} s` : `${Math.floor(ms / 60000)}:${String(ms % 60000 / 1000).padStart(2, "0")}`;
    if (step < 3600000)
        return ms % 3600000 === 0 ? `${ms / 3600000} h` : ms < 3600000 ? `${ms / 60000} min` : `${Math.floor(ms / 3600000)}:${String(ms % 3600000 / 60000).padStart(2, "0")} h`;
    return ms % 86400000 === 0 ? `${ms / 86400000} d` : `${Math.round(ms / 3600000)} h`;
}

// [{from, to}] of "pause" and "resume".
export function pauses(events, end) {
    const out = [];
    let from = NaN;
    for (const e of events || []) {
        if (/^paused?$/.test(e.type) && isNaN(from))
            from = time(e.at);
        else if (/^resumed?$/.test(e.type) && !isNaN(from)) {
            out.push({from, to: time(e.at)});
            from = NaN;
        }
    }
    if (!isNaN(from))
        out.push({from, to: end});
    return out;
}

// Names of the rows to draw: all, or those that say something and the number of the others.
function choose(attempts, cause, all) {
    const names = new Map();
    for (const a of attempts)
        for (const r of a.replicas || []) {
            const n = names.get(r.name) || {name: r.name, weight: 0, order: names.size};
            if (r.restarts)
                n.weight += 2;
            if (r.outcome === "failed")
                n.weight += 4;
            if (a.cause && a.cause.replica === r.name)
                n.weight += 8;
            if (cause && cause.replica === r.name)
                n.weight += 16;
            names.set(r.name, n);
        }
    const list = [...names.values()];
    if (all || list.length <= MOST_ROWS)
        return {rows: list, rest: []};
    const kept = [...list].sort((a, b) => b.weight - a.weight || a.order - b.order).slice(0, MOST_ROWS - 1);
    const keep = new Set(kept.map(x => x.name));
    return {rows: list.filter(x => keep.has(x.name)), rest: list.filter(x => !keep.has(x.name))};
}

function bar(o, x, from, to, title) {
    const x0 = x(from), x1 = x(to);
    return {...o, x0, x1: Math.max(x0 + 2, x1), title};
}

// What ran of a replica before its last restart in the attempt: the report has only its last life.
function earlierLives(events, name, number, x) {
    const out = [];
    let from = NaN, ended = NaN, words = "";
    for (const e of events || []) {
        if (e.replica !== name || e.attempt !== number)
            continue;
        if (e.type === "started" && isNaN(from)) {
            from = time(e.at);
        } else if (e.type === "exited") {
            ended = time(e.at);
            words = e.message;
        } else if (e.type === "restart" && !isNaN(from)) {
            const to = isNaN(ended) ? time(e.at) : ended;
            out.push(bar({state: "failed", plain: true}, x, from, to, `${name}, attempt ${number}: ${words || "ended"}, then restarted; ${duration(to - from)}`));
            from = ended = NaN;
        }
    }
    return out;
}

function replicaBars(a, r, live, x, end) {
    const state = r.outcome || live && live.state || "running";
    const from = time(r.started), to = isNaN(time(r.ended)) ? (a.ended ? time(a.ended) : end) : time(r.ended);
    if (isNaN(from))
        return null;
    const words = r.outcome === "failed" ? `failed, ${r.signal || `exit status ${r.exit_code}`}` :
        r.outcome === "stopped" && r.stopped_because_of ? `stopped because of ${r.stopped_because_of}` : state;
    return bar({state, ending: r.outcome}, x, from, to,
        `${r.name}, attempt ${a.number}: ${words}, ${duration(to - from)}${r.restarts ? `, ${r.restarts} restarts` : ""}`);
}

// {width, height, x(ms), ticks, rows: [{y, label, bars, marks}], because: [{x, y, to: [y…]}], pauses, now}
// report.attempts must not be empty.
export function layout({report, events, now, width, all}) {
    const attempts = (report.attempts || []).filter(a => a.started);
    const running = !report.outcome;
    const start = Math.min(...attempts.map(a => time(a.started)), time(report.submitted) || Infinity);
    const last = running ? now : Math.max(...attempts.map(a => time(a.ended) || 0), start + 1);
    const end = Math.max(last, start + 1);
    const LABEL = width < 600 ? 84 : 148;
    const inner = Math.max(120, width - LABEL - RIGHT);
    const x = t => LABEL + Math.max(0, Math.min(1, (t - start) / (end - start))) * inner;
    const live = new Map((report.live && report.live.replicas || []).map(r => [r.name, r]));
    const rows = [], because = [];

    const waited = attempts.length && time(report.submitted) < time(attempts[0].started) - (end - start) / 400;
    rows.push({label: "attempts", kind: "job", bars: [
        ...(waited ? [bar({state: "waiting", plain: true}, x, time(report.submitted), time(attempts[0].started),
            `waited ${duration(time(attempts[0].started) - time(report.submitted))}`)] : []),
        ...attempts.map(a => bar({state: a.outcome || "running", ending: a.outcome, text: attempts.length > 1 ? String(a.number) : ""}, x, time(a.started),
            time(a.ended) || end, `attempt ${a.number}: ${a.outcome || "running"}, ${duration((time(a.ended) || end) - time(a.started))}` +
            (a.cause ? `; ${a.cause.message}` : "")))], marks: []});

    const {rows: chosen, rest} = choose(attempts, report.cause, all);
    const at = new Map();
    for (const c of chosen) {
        at.set(c.name, rows.length);
        const row = {label: c.name, kind: "replica", bars: [], marks: []};
        for (const a of attempts) {
            const r = (a.replicas || []).find(y => y.name === c.name);
            const b = r && replicaBars(a, r, a === attempts[attempts.length - 1] ? live.get(c.name) : null, x, end);
            if (b)
                row.bars.push(...(r.restarts ? earlierLives(events, c.name, a.number, x) : []), b);
        }
        rows.push(row);
    }
    for (const e of events || []) {
        const i = at.get(e.replica);
        if (i !== undefined && /^restart/.test(e.type))
            rows[i].marks.push({kind: "restart", x: x(time(e.at)), title: `restarted: ${e.message || ""}`});
    }
    for (const a of attempts) {
        if (!a.cause || !a.cause.replica)
            continue;
        const i = at.get(a.cause.replica);
        if (i === undefined)
            continue;
        const mark = {kind: "first", x: x(time(a.cause.at)), title: `failed first: ${a.cause.message}`, rank: a.cause.rank};
        rows[i].marks.push(mark);
        const stopped = (a.replicas || []).filter(r => r.stopped_because_of && at.has(r.name)).map(r => ({row: at.get(r.name), x: x(time(r.ended))}));
        if (stopped.length)
            because.push({row: i, x: mark.x, to: stopped});
    }
    rows.forEach((r, i) => {
        r.y = AXIS + i * ROW;
    });
    const height = AXIS + rows.length * ROW + 4;
    return {width: LABEL + inner + RIGHT, label: LABEL, height, rows, because, rest: rest.length,
        ticks: ticks(start, end, inner).map(t => ({x: x(start + t.ms), label: t.label})),
        pauses: pauses(events, end).map(p => ({x0: x(p.from), x1: Math.max(x(p.from) + 2, x(p.to)), title: `paused ${duration(p.to - p.from)}`})),
        now: running ? x(now) : null, start, end};
}

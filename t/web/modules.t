#!/usr/bin/env node
// The page's modules that are pure: escapes of logs, event streams, time lines, maps, squiggles, numbers.
"use strict";
const fs = require("fs");
const path = require("path");
const t = require("./lib.js");

async function ansi(load) {
    const {pieces, classes, textOf, lastOfCarriage} = await load("ansi.js");
    const looks = line => pieces(line).map(p => [p.text, classes(p.look)]);
    const E = "\u001b";
    t.is(looks("plain"), [["plain", ""]], "a plain line");
    t.is(looks(`${E}[31mred${E}[0m rest`), [["red", "fg1"], [" rest", ""]], "a colour and its end");
    t.is(looks(`${E}[1;4;92mx${E}[22my${E}[mz`), [["x", "fg2 b u"], ["y", "fg2 u"], ["z", ""]], "styles add up and end apart");
    t.is(looks(`${E}[38;5;196mx${E}[38;2;10;200;30my${E}[38;5;3mz`), [["x", "fg1"], ["y", "fg2"], ["z", "fg3"]], "256 and 16 million colours become the nearest of eight");
    t.is(looks(`${E}[7;31mx`), [["x", "bg1"]], "inverse");
    t.is(textOf(`a${E}]0;title\u0007b${E}]8;;http://x${E}\\c${E}Pq${E}\\d`), "abcd", "titles, links and device strings are dropped");
    t.is(textOf(`a${E}[2Jb${E}[10;20Hc${E}[?1049hd${E}(Be${E}=f${E}`), "abcdef", "so are movements and modes, and an escape at the end");
    t.is(textOf(`a${E}]0;never ends`), "a", "a string without an end is as long as the line");
    t.is(textOf("a\u009b31mb\u009d0;t\u0007c"), "abc", "C1 controls are sequences as well");
    t.is(textOf("a\u0000b\u0007c\u007fd\te"), "a\u2400b\u2407c\u2421d\te", "other controls become visible, a tab stays");
    t.is(textOf("a\u202eb\u2066c"), "a\ufffdb\ufffdc", "no override of direction");
    t.is(lastOfCarriage("1%\r50%\r100%\r"), "100%", "of a progress bar its last state");
    t.is(textOf(`${E}[99999999999999m${E}[;;;mx`), "x", "senseless numbers");
    let seed = Number(process.env.MUSTER_TEST_SEED || Date.now() % 1e9);
    t.diag(`MUSTER_TEST_SEED=${seed}`);
    const random = k => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return Math.floor(seed / 65536) % k;
    };
    let bad = null;
    for (let i = 0; i < 20000 && !bad; i++) {
        const line = Array.from({length: random(40)}, () => [E, "[", "]", "m", ";", "\u0007", "\\", "3", "8", "P", "\u009b", "\r", "x", "\u202e", "?", " "][random(16)]).join("");
        const out = textOf(line);
        if (/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(out))
            bad = JSON.stringify([line, out]);
    }
    t.is(bad, null, "20,000 random lines leave no control character");
}

async function sse(load) {
    const {EventText} = await load("sse.js");
    const text = ": hello\n\nid: 7\nevent: jobs\ndata: {\"a\":\ndata: 1}\n\ndata: x\r\n\r\nevent: none\n\nid: 9\n\n";
    const want = [{type: "jobs", data: "{\"a\":\n1}", id: "7"}, {type: "message", data: "x", id: null}, {type: "message", data: "", id: "9"}];
    t.is(new EventText().feed(text), want, "events: comments, several data lines, CRLF, an id alone");
    let bad = 0;
    for (let i = 1; i < text.length; i++) {
        const e = new EventText();
        if (JSON.stringify([...e.feed(text.slice(0, i)), ...e.feed(text.slice(i))]) !== JSON.stringify(want))
            bad++;
    }
    t.is(bad, 0, "wherever the text is cut in two");
}

const AT = s => new Date(1e12 + s * 1000).toISOString();
function story() {
    const replica = (name, from, to, outcome, why) => ({name, started: AT(from), ended: to === null ? null : AT(to), outcome, exit_code: outcome === "failed" ? 3 : null, signal: null, restarts: 0,
        stopped_because_of: why || null});
    const cause = {replica: "w-1", rank: 2, kind: "exit", at: AT(10), message: "m", exit_code: 3, signal: null};
    return {outcome: "failed", submitted: AT(-5), cause, attempts: [
        {number: 1, outcome: "failed", cause: {...cause, replica: "w-0", at: AT(4)}, started: AT(0), ended: AT(5), replicas: [replica("w-0", 0, 4, "failed"), replica("w-1", 0, 5, "stopped", "w-0")]},
        {number: 2, outcome: "failed", cause, started: AT(6), ended: AT(11), replicas: [replica("w-0", 6, 11, "stopped", "w-1"), replica("w-1", 6, 10, "failed")]}]};
}

async function timeline(load) {
    const {layout, ticks, pauses} = await load("timeline_layout.js");
    const l = layout({report: story(), events: [{type: "restart", replica: "w-0", at: AT(8), message: "x"}], now: Date.parse(AT(100)), width: 1000});
    t.is(l.rows.map(r => r.label), ["attempts", "w-0", "w-1"], "a row for the attempts and one for each replica");
    t.is(l.rows[0].bars.map(b => [b.state, b.text || ""]), [["waiting", ""], ["failed", "1"], ["failed", "2"]], "waiting, then the attempts");
    t.is(l.rows[1].bars.map(b => b.state), ["failed", "stopped"], "a replica's bars");
    t.is(l.rows.flatMap(r => r.marks.filter(m => m.kind === "first").map(() => r.label)), ["w-0", "w-1"], "the first failure of each attempt");
    t.is(l.because.map(b => [b.row, b.to.map(x => x.row)]), [[1, [2]], [2, [1]]], "who was stopped because of it");
    t.is(l.rows[1].marks.filter(m => m.kind === "restart").length, 1, "a restart");
    const again = story();
    again.attempts[1].replicas[0] = {...again.attempts[1].replicas[0], started: AT(9), restarts: 1};
    const lives = layout({report: again, events: [["started", 6], ["exited", 8], ["restart", 9], ["started", 9]].map(([type, s]) => ({type, replica: "w-0", attempt: 2, at: AT(s), message: "exit code 1"})),
        now: 0, width: 1000}).rows[1].bars;
    t.is(lives.map(b => b.state), ["failed", "failed", "stopped"], "a life before a restart has a bar of its own");
    t.ok(lives[1].x1 < lives[2].x0 && /exit code 1, then restarted; 2.0 s/.test(lives[1].title), "with how it ended", lives);
    t.is(l.now, null, "an ended job has no line of now");
    const bars = l.rows.flatMap(r => r.bars);
    t.ok(bars.every(b => b.x0 >= l.label && b.x1 <= l.width && b.x1 >= b.x0 + 2), "all bars are inside and visible", bars);
    const sorted = l.rows[0].bars.every((b, i, a) => !i || b.x0 >= a[i - 1].x1 - 2);
    t.ok(sorted, "attempts follow each other");
    const running = story();
    running.outcome = null;
    running.attempts[1] = {...running.attempts[1], outcome: null, ended: null, cause: null, replicas: running.attempts[1].replicas.map(r => ({...r, ended: null, outcome: null}))};
    const r = layout({report: running, events: [], now: Date.parse(AT(20)), width: 1000});
    t.is([Math.round(r.rows[1].bars[1].x1), Math.round(r.now)], [Math.round(r.now), Math.round(r.now)], "what runs reaches until now");
    const big = story();
    for (const a of big.attempts)
        for (let i = 2; i < 500; i++)
            a.replicas.push({...a.replicas[0], name: `w-${i}`, outcome: "stopped", stopped_because_of: "w-0"});
    big.cause.replica = big.attempts[1].cause.replica = "w-400";
    const some = layout({report: big, events: [], now: 0, width: 1000});
    t.ok(some.rows.length < 40 && some.rest > 400 && some.rows.some(x => x.label === "w-400"), "of 500 replicas some are shown, the one that failed among them", some.rows.map(x => x.label));
    t.is(layout({report: big, events: [], now: 0, width: 1000, all: true}).rows.length, 501, "or all");
    t.is(pauses([{type: "pause", at: AT(1)}, {type: "resume", at: AT(3)}, {type: "paused", at: AT(5)}], 1e12 + 9000).map(p => p.to - p.from), [2000, 4000], "pauses, the last one open");
    t.is(ticks(0, 90000, 500).map(x => x.label), ["0", "30 s", "1 min", "1:30"], "ticks of 90 s");
    t.is(ticks(0, 2 * 3600e3, 400).map(x => x.label), ["0", "30 min", "1 h", "1:30 h", "2 h"], "ticks of two hours");
}

async function map(load) {
    const {mapLayout, hit, move} = await load("rankmap_layout.js");
    for (const [n, per, width] of [[4096, 8, 1200], [4096, 8, 340], [512, 64, 1200], [7, 3, 800], [1, 1, 300], [1000, 1, 640], [300, 300, 500]]) {
        const ranks = Array.from({length: n}, (_, i) => ({rank: i, replica: `w-${Math.floor(i / per)}`}));
        const m = mapLayout(ranks, width, 42);
        const places = new Set(m.at.map(p => `${p.x},${p.y}`));
        const inside = m.at.every(p => p.x >= 42 && p.x + m.cell <= Math.max(width, 42 + m.pitch) && p.y + m.cell <= m.height);
        const found = m.at.every((p, i) => hit(m, p.x + m.cell / 2, p.y + m.cell / 2) === i);
        t.ok(places.size === n && inside && found && m.cell >= 8, `${n} ranks, ${per} per replica, ${width} pixels: each has a place of its own and is found there`, {cell: m.cell, perRow: m.perRow, inside, found});
    }
    const m = mapLayout(Array.from({length: 64}, (_, i) => ({rank: i, replica: `w-${i >> 3}`})), 500, 42);
    t.is([move(m, 0, "ArrowLeft"), move(m, 0, "ArrowRight"), move(m, 0, "ArrowDown"), move(m, 5, "Home"), move(m, 5, "End"), move(m, 5, "a")], [0, 1, m.perRow, 0, 63, null], "keys move over it");
    t.is(hit(m, 5, 5), -1, "the labels are no rank");
}

async function words(load) {
    const f = await load("format.js");
    t.is([534, 2500, 42000, 185000, 8040000, 273600000, NaN].map(f.duration), ["534 ms", "2.5 s", "42 s", "3 min 05 s", "2 h 14 min", "3 d 4 h", ""], "durations");
    t.is([9999, 59999, 3599999].map(f.duration), ["9.9 s", "59 s", "59 min 59 s"], "durations are never rounded up into the next unit");
    t.is([0, 1023, 1024, 123 * 1024, 5e9].map(f.bytes), ["0 B", "1023 B", "1.0 KiB", "123 KiB", "4.7 GiB"], "bytes");
    t.is([f.plural(1, "rank"), f.plural(4096, "rank")], ["1 rank", "4,096 ranks"], "plurals");
    t.is(f.ranges([7, 0, 1, 2, 5, 8]), "0–2, 5, 7–8", "ranges");
    t.is(["a b", "x=1", "it's", ""].map(f.shellWord), ["'a b'", "x=1", "'it'\\''s'", "''"], "words of a shell");
}

async function squiggles(load) {
    const {span, offset, worst} = await load("squiggles.js");
    const text = "a: 1\n  replcas: 2\n  “𝒳”: \"x y\" z\n", lines = text.split("\n");
    t.is(span(lines, {line: 2, column: 3}), {before: "  ", text: "replcas"}, "a key");
    t.is(span(lines, {line: 3, column: 8}), {before: "  “𝒳”: ", text: "\"x y\""}, "a string behind characters of two units");
    t.is(span(lines, {line: 99, column: 5}), {before: "", text: " "}, "a place that is no more");
    t.is(offset(text, 3, 8), text.indexOf("\"x y\""), "the offset of a place");
    t.is([...worst([{line: 1, severity: "note"}, {line: 1, severity: "error"}, {line: 1, severity: "warning"}])], [[1, "error"]], "the worst of a line");
}

async function hang(load) {
    const {groups} = await load("hang.js");
    const g = groups([{rank: 0, place: "a", for: [3]}, {rank: 1, place: "a", for: [3]}, {rank: 2, place: "b", for: [3]}, {rank: 3, place: "c", for: []}]);
    t.is(g.map(x => [x.ranks, x.level]), [[[0, 1], 1], [[2], 1], [[3], 0]], "who waits at one place for the same is one box");
    t.is(groups([{rank: 0, place: "a", for: [1]}, {rank: 1, place: "b", for: [0]}]).length, 2, "a cycle has an end");
    t.is(groups([{rank: 0, place: "a", for: [9]}]).map(x => x.ranks), [[0], [9]], "a rank that nobody saw");
}

async function model(load) {
    const {rankRows, replicaRows, addUsage} = await load("model.js");
    const report = {cause: {replica: "w-0", rank: 1}, attempts: [{number: 1, cause: {replica: "w-0", rank: 1}, replicas: [{name: "w-0", host: "h", restarts: 2, outcome: null, started: AT(0), ended: null}],
        ranks: [{rank: 1, replica: "w-0", outcome: "failed", exit_code: 3, started: AT(0), ended: AT(1)}, {rank: 0, replica: "w-0", outcome: null, started: AT(0)}]}]};
    const live = {replicas: [{name: "w-0", state: "running", restarts: 2, message: "x"}], ranks: [{rank: 0, replica: "w-0", state: "running"}, {rank: 1, replica: "w-0", state: "failed"}]};
    const replicas = replicaRows(report, report.attempts[0], live), ranks = rankRows(report, report.attempts[0], live);
    t.is(ranks.map(r => [r.rank, r.state, r.first, r.exit_code, r.host]), [[0, "running", false, null, "h"], [1, "failed", true, 3, "h"]], "ranks of the report and what is live, in order");
    t.is(replicas.map(r => [r.name, r.state, r.restarts, r.message, r.first]), [["w-0", "running", 2, "x", true]], "replicas likewise");
    addUsage(replicas, ranks, {ranks: [{rank: 0, replica: "w-0", cpu: [1, 50], memory: [5, 7]}, {rank: 1, replica: "w-0", cpu: [2, 30], memory: [1, 1]}]});
    t.is([ranks[0].cpu, ranks[1].memory, replicas[0].cpu, replicas[0].memory, replicas[0].cpus], [50, 1, 80, 8, [3, 80]], "usage: the last value, summed for a replica");
    const {retries} = await load("states.js");
    t.is(retries({attempts: [{cause: {kind: "exit"}, replicas: [{restarts: 2}]}, {cause: {kind: "gone"}}, {cause: {kind: "exit"}}]}), {user: 1, platform: 1, restarts: 2}, "retries by whose failure it was");
}

function source() {
    const dir = path.join(t.TOP, "src/web");
    const bad = [], inline = [];
    for (const f of fs.readdirSync(dir)) {
        const text = fs.readFileSync(path.join(dir, f), "utf8");
        if (/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|setAttribute\("style"/.test(text))
            bad.push(f);
        if (f.endsWith(".html") && /<script(?![^>]*src=)|<style|\son\w+=|\sstyle=/.test(text))
            inline.push(f);
        if (/https?:\/\/(?!127|www\.w3\.org\/2000\/svg)/.test(text))
            inline.push(`${f}: an address`);
    }
    t.is(bad, [], "no module makes elements of text");
    t.is(inline, [], "nothing inline, no address of another machine");
}

t.main(async () => {
    // What the modules ask of a document when they are loaded: nothing, and this would show it.
    const load = t.modules();
    for (const part of [ansi, sse, timeline, map, words, squiggles, hang, model])
        await part(load);
    source();
});

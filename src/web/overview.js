// overview.js - the first section of a job's page: time line, map of ranks, table of replicas and ranks.
import * as api from "./api.js";
import {fill, h, s} from "./dom.js";
import {bytes, count, duration, exitWords, full, percent, plural} from "./format.js";
import {addUsage, attemptOf, rankRows, replicaRows, stateCounts} from "./model.js";
import {rankMap} from "./rankmap.js";
import {badge, canonical} from "./states.js";
import {sortTable} from "./table.js";
import {drawTimeline} from "./timeline.js";

const MAP_FROM = 9; // fewer ranks are seen in the table

function spark(values) {
    if (!values || values.length < 2)
        return null;
    const list = values.slice(-40), max = Math.max(1, ...list);
    const d = list.map((v, i) => `${i ? "L" : "M"}${(60 * i / (list.length - 1)).toFixed(1)} ${(15 - 14 * v / max).toFixed(1)}`).join("");
    return s("svg", {class: "spark", viewBox: "0 0 60 16", "aria-hidden": "true"}, s("path", {d}));
}

// ctx: {id, report(), events(), now(), ended(), href(part, params), go(part, params)}
export function open(root, ctx) {
    let usage = null, all = false, number = null, kind = null, filter = "", colour = "state";
    const line = h("div");
    const attempts = h("select", {"aria-label": "Attempt", onchange: () => {
        number = Number(attempts.value);
        draw();
    }});
    const kinds = h("div", {class: "chips", role: "group", "aria-label": "Rows"});
    const states = h("select", {"aria-label": "Only state", onchange: () => {
        filter = states.value;
        draw();
    }});
    const colours = h("select", {"aria-label": "Colour of the map", onchange: () => {
        colour = colours.value;
        draw();
    }}, [["state", "Colour: state"], ["cpu", "Colour: CPU"], ["memory", "Colour: memory"]].map(([v, t]) => h("option", {value: v}, t)));
    const mapBox = h("div", {class: "map"}), tableBox = h("div");
    const mapPart = h("section", {class: "part", "aria-label": "Map of ranks"}, h("div", {class: "part-head"}, h("h2", null, "Map of ranks"), colours), mapBox);
    const rankPart = h("section", {class: "part", "aria-label": "Replicas and ranks"},
        h("div", {class: "part-head"}, h("h2", null, "Replicas and ranks"), kinds, states, attempts), tableBox);
    const left = h("div", null, h("section", {class: "part", "aria-label": "Time line"}, h("h2", null, "Time line"), line), mapPart);
    fill(root, h("div", {class: "overview two"}, left, h("div", null, rankPart)));

    const logOf = r => ctx.href("logs", r.rank !== undefined ? {rank: r.rank, attempt: number || null} : {replica: r.name, attempt: number || null});
    const map = rankMap(mapBox, {
        describe: r => [`rank ${r.rank} on ${r.replica}`, r.host, r.state, exitWords(r) && r.state !== "running" ? `exit ${exitWords(r)}` : "", r.cpu !== null ? `CPU ${percent(r.cpu)}` : "",
            r.memory !== null ? bytes(r.memory) : "", r.first ? "failed first" : ""].filter(x => x).join(" · "),
        choose(r, openIt) {
            if (openIt) {
                location.hash = logOf(r);
                return;
            }
            kind = "ranks";
            filter = "";
            draw();
            table.reveal(String(r.rank));
        },
    });
    let table = null, tableKind = null;

    function makeTable() {
        const first = kind === "ranks" ? [
            {id: "rank", label: "Rank", num: true, value: r => r.rank, cell: r => h("a", {href: logOf(r), title: "open its log"}, String(r.rank))},
            {id: "replica", label: "Replica", value: r => r.replica, cell: r => r.replica}] : [
            {id: "name", label: "Replica", value: r => r.name, cell: r => h("a", {href: logOf(r), title: "open its logs"}, r.name)}];
        table = sortTable(tableBox, [...first,
            {id: "state", label: "State", value: r => r.state, cell: r => badge(r.state)},
            {id: "exit", label: "Exit", value: exitWords, cell: exitWords},
            {id: "cpu", label: "CPU", num: true, value: r => r.cpu, cell: r => [spark(r.cpus), percent(r.cpu ?? -1)], only: rows => rows.some(r => r.cpu !== null)},
            {id: "memory", label: "Memory", num: true, value: r => r.memory, cell: r => bytes(r.memory ?? -1), only: rows => rows.some(r => r.memory !== null)},
            {id: "gpus", label: "GPU", value: r => (r.gpus || []).join(","), cell: r => (r.gpus || []).join(" "), only: rows => rows.some(r => r.gpus && r.gpus.length)},
            {id: "host", label: "Host", value: r => r.host, cell: r => r.host},
            {id: "restarts", label: "Restarts", num: true, value: r => r.restarts, cell: r => r.restarts ? count(r.restarts) : r.restarts === 0 ? "0" : "", only: () => kind === "replicas"},
            {id: "ran", label: "Ran for", num: true, value: r => ran(r), cell: r => h("span", {title: full(r.from)}, duration(ran(r)))},
            {id: "message", label: "", class: "message", cell: r => [r.first ? h("b", {class: "bad"}, "failed first") : null, r.first && r.message ? " · " : null, r.message], only: rows => rows.some(r => r.message || r.first)}],
        {caption: kind === "ranks" ? "Ranks" : "Replicas", class: "rank-table", key: r => String(r.rank !== undefined ? r.rank : r.name), rowClass: r => r.first ? "first" : null});
        tableKind = kind;
    }

    function ran(r) {
        return r.from ? (r.to ? Date.parse(r.to) : ctx.ended() ? NaN : ctx.now()) - Date.parse(r.from) : NaN;
    }

    function draw() {
        const report = ctx.report();
        drawTimeline(line, {report, events: ctx.events(), now: ctx.now(), all, onAll() {
            all = !all;
            draw();
        }});
        const attempt = attemptOf(report, number), list = report.attempts || [];
        const live = attempt && attempt === list[list.length - 1] || !attempt ? report.live : null;
        const replicas = replicaRows(report, attempt, live), ranks = rankRows(report, attempt, live);
        if (!number || attempt === list[list.length - 1])
            addUsage(replicas, ranks, usage);
        if (!kind)
            kind = ranks.length > replicas.length && (replicas.length < 2 || ranks.length <= 64) ? "ranks" : "replicas";
        if (!ranks.length)
            kind = "replicas";
        attempts.hidden = list.length < 2;
        if (attempts.options.length !== list.length)
            fill(attempts, list.map(a => h("option", {value: a.number}, `Attempt ${a.number} of ${list.length}${a.outcome ? `: ${a.outcome}` : ""}`)));
        if (attempt)
            attempts.value = attempt.number;
        if (kinds.dataset.drawn !== `${kind} ${replicas.length} ${ranks.length}`) {
            kinds.dataset.drawn = `${kind} ${replicas.length} ${ranks.length}`;
            const focused = kinds.contains(document.activeElement);
            fill(kinds, [["replicas", replicas.length], ["ranks", ranks.length]].filter(x => x[1]).map(([k, n]) =>
                h("button", {class: "chip", "aria-pressed": String(k === kind), onclick: () => {
                    kind = k;
                    filter = "";
                    draw();
                }}, plural(n, k.replace(/s$/, "")))));
            if (focused)
                kinds.querySelector("[aria-pressed=true]").focus();
        }
        const rows = kind === "ranks" ? ranks : replicas;
        drawStates(rows);
        mapPart.hidden = ranks.length < MAP_FROM;
        if (!mapPart.hidden)
            drawMap(ranks);
        rankPart.hidden = rows.length === 0;
        if (tableKind !== kind)
            makeTable();
        table.set(filter ? rows.filter(r => canonical(r.state) === filter) : rows);
    }

    function drawStates(rows) {
        const n = stateCounts(rows);
        states.hidden = Object.keys(n).length < 2 && !filter;
        if (document.activeElement === states)
            return;
        fill(states, h("option", {value: ""}, "All states"), Object.entries(n).map(([w, k]) => h("option", {value: w}, `${w} (${count(k)})`)));
        if (filter && !n[filter])
            filter = "";
        states.value = filter;
    }

    function drawMap(ranks) {
        colours.hidden = !ranks.some(r => r.cpu !== null);
        const max = colour === "state" ? 0 : Math.max(1, ...ranks.map(r => r[colour] || 0));
        map.set(ranks.map(r => ({...r, heat: colour === "state" ? null : (r[colour] || 0) / max})));
    }

    async function loadUsage() {
        try {
            usage = await api.get(`/jobs/${encodeURIComponent(ctx.id)}/usage`);
            draw();
        } catch { /* none was recorded */ }
    }

    draw();
    loadUsage();
    const usageTimer = setInterval(() => !ctx.ended() && !document.hidden && loadUsage(), 10000);
    const nowTimer = setInterval(() => !ctx.ended() && !document.hidden && (attemptsSmall() || Math.random() < 0.2) && draw(), 2000);
    const attemptsSmall = () => ((attemptOf(ctx.report(), number) || {}).ranks || []).length < 600;
    const sized = new ResizeObserver(() => requestAnimationFrame(draw));
    sized.observe(line);
    return {
        changed: draw,
        close() {
            clearInterval(usageTimer);
            clearInterval(nowTimer);
            sized.disconnect();
            map.close();
        },
    };
}

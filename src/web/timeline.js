// timeline.js - draws a time line (timeline_layout.js) as SVG.
import {fill, h, s} from "./dom.js";
import {duration} from "./format.js";
import {badge, canonical, icon, shape} from "./states.js";
import {AXIS, ROW, layout} from "./timeline_layout.js";

function title(el, text) {
    el.append(s("title", null, text));
    return el;
}

function mark(x, y, state, size) {
    const name = canonical(state);
    return s("path", {class: `shape s-${name} ${name === "running" ? "solid" : ""}`, d: shape(name),
        transform: `translate(${x - size / 2} ${y + ROW / 2 - size / 2}) scale(${size / 16})`});
}

function drawBar(b, y) {
    const g = s("g", {class: `s-${canonical(b.state)}`},
        s("rect", {class: `bar-shape ${b.plain ? "plain" : ""}`, x: b.x0, y: y + 5, width: b.x1 - b.x0, height: ROW - 10, rx: 2}));
    if (b.text && b.x1 - b.x0 > 24)
        g.append(s("text", {x: b.x0 + 6, y: y + 15}, b.text));
    return title(g, b.title);
}

function drawRow(row, width, most) {
    const g = s("g", null, s("line", {class: "sep", x1: 0, x2: width, y1: row.y + ROW, y2: row.y + ROW}));
    const label = row.label.length > most ? `${row.label.slice(0, most - 1)}…` : row.label;
    const text = s("text", {x: 0, y: row.y + 15, class: row.kind === "job" ? "dim" : row.marks.some(m => m.kind === "first") ? "first-label" : ""}, label);
    g.append(label === row.label ? text : title(text, row.label));
    for (const b of row.bars) {
        g.append(drawBar(b, row.y));
        if (b.ending && b.x1 - b.x0 > 30 && !row.marks.some(m => m.kind === "first" && Math.abs(m.x - b.x1) < 16))
            g.append(mark(b.x1 - 12, row.y, b.ending, 9));
    }
    for (const m of row.marks)
        if (m.kind === "restart")
            g.append(title(s("path", {class: "shape s-paused", d: `M${m.x} ${row.y + 2}v${ROW - 4}`}), m.title));
    return g;
}

function drawFirst(m, y) {
    return title(s("g", {class: "s-failed"}, s("circle", {cx: m.x, cy: y + ROW / 2, r: 8, class: "first-mark", fill: "var(--ground)", stroke: "currentColor"}),
        mark(m.x, y, "failed", 11)), m.title);
}

// Who was stopped because of it: a line at the time of the first failure, and from it a foot to the end of each
// that was stopped.
function drawBecause(b, rows) {
    const y = rows[b.row].y + ROW / 2;
    const ys = b.to.map(t => rows[t.row].y + ROW / 2);
    const d = [`M${b.x} ${Math.min(y, ...ys)}V${Math.max(y, ...ys)}`, ...b.to.map((t, i) => `M${b.x} ${ys[i]}H${Math.max(b.x + 5, t.x)}`)].join("");
    return s("path", {class: "because", d});
}

function words(report, lay) {
    const out = [`Time line of ${duration(lay.end - lay.start)}.`];
    for (const a of report.attempts || []) {
        out.push(`Attempt ${a.number}: ${a.outcome || "running"}.`);
        if (a.cause)
            out.push(`First failure: ${a.cause.message}.`);
        const stopped = (a.replicas || []).filter(r => r.stopped_because_of).length;
        if (stopped)
            out.push(`${stopped} replicas were stopped because of it.`);
    }
    return out.join(" ");
}

export function drawTimeline(box, {report, events, now, all, onAll}) {
    if (!(report.attempts || []).some(a => a.started)) {
        fill(box, h("p", {class: "dim"}, "Nothing was started yet."));
        return;
    }
    const width = Math.max(320, box.clientWidth || 800);
    const lay = layout({report, events, now, width, all});
    const svg = s("svg", {width: lay.width, height: lay.height, role: "img", "aria-label": words(report, lay)});
    const axis = s("g", {class: "axis"});
    lay.ticks.forEach((t, i) => {
        const end = i > 0 && t.x > lay.width - 50;
        axis.append(s("line", {class: "grid", x1: t.x, x2: t.x, y1: AXIS - 6, y2: lay.height - 2}),
            s("text", {x: t.x, y: 13, "text-anchor": i === 0 ? "start" : end ? "end" : "middle"}, t.label));
    });
    svg.append(axis);
    for (const r of lay.rows)
        svg.append(drawRow(r, lay.width, Math.floor(lay.label / 7)));
    for (const p of lay.pauses)
        svg.append(title(s("g", null, s("rect", {class: "pause", x: p.x0, y: AXIS + 5, width: p.x1 - p.x0, height: ROW - 10}),
            p.x1 - p.x0 > 14 ? mark((p.x0 + p.x1) / 2, AXIS, "paused", 11) : null), p.title));
    for (const b of lay.because)
        svg.append(drawBecause(b, lay.rows));
    for (const r of lay.rows)
        for (const m of r.marks)
            if (m.kind === "first")
                svg.append(drawFirst(m, r.y));
    if (lay.now !== null)
        svg.append(s("line", {class: "now", x1: lay.now, x2: lay.now, y1: AXIS - 6, y2: lay.height}));
    const used = new Set(lay.rows.flatMap(r => r.bars.map(b => canonical(b.state))));
    fill(box, h("div", {class: "timeline", tabindex: "0", role: "region", "aria-label": "Time line"}, svg),
        h("div", {class: "legend"}, [...used].map(w => badge(w)),
            lay.because.length ? h("span", null, h("span", {class: "s-failed"}, icon("failed")), " in a circle: failed first; the line from it: stopped because of it") : null,
            lay.rows.some(r => r.marks.some(m => m.kind === "restart")) ? h("span", null, h("b", {class: "s-paused", "aria-hidden": "true"}, "| "), "restarted") : null,
            lay.pauses.length && !used.has("paused") ? badge("paused") : null,
            lay.rest || all ? h("button", {onclick: onAll}, all ? "Show fewer replicas" : `Show ${lay.rest} more replicas`) : null));
}


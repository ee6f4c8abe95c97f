// hang.js - a hang report as a drawing: who waits for whom. Ranks that wait at the same place for the same
// ranks are one box; on the right are those that wait for nobody.
import {fill, h, s} from "./dom.js";
import {plural, ranges} from "./format.js";

const W = 250, H = 54, GAP_X = 110, GAP_Y = 22;

// [{ranks, place, for: [group…], level}] of waits. Pure.
export function groups(waits) {
    const by = new Map();
    const key = w => `${w.place || ""}\n${[...(w.for || [])].sort((a, b) => a - b).join(",")}`;
    for (const w of waits) {
        const k = key(w);
        if (!by.has(k))
            by.set(k, {ranks: [], place: w.place || "", wants: w.for || [], next: []});
        by.get(k).ranks.push(w.rank ?? w.replica);
    }
    const list = [...by.values()], of = new Map();
    for (const g of list)
        for (const r of g.ranks)
            of.set(r, g);
    for (const g of list)
        for (const r of g.wants) {
            if (!of.has(r)) {
                const other = {ranks: [r], place: "not seen", wants: [], next: []};
                of.set(r, other);
                list.push(other);
            }
            if (!g.next.includes(of.get(r)))
                g.next.push(of.get(r));
        }
    // The longest way to somebody who waits for nobody; a cycle ends where it closes.
    const level = (g, path) => {
        if (g.level !== undefined)
            return g.level;
        if (path.has(g))
            return 0;
        path.add(g);
        const n = g.next.filter(x => x !== g).map(x => level(x, path));
        path.delete(g);
        return g.level = n.length ? 1 + Math.max(...n) : 0;
    };
    for (const g of list)
        level(g, new Set());
    return list;
}

function draw(waits) {
    const list = groups(waits), deepest = Math.max(...list.map(g => g.level));
    const columns = Array.from({length: deepest + 1}, (_, i) => list.filter(g => g.level === deepest - i));
    const rows = Math.max(...columns.map(c => c.length));
    const width = columns.length * W + (columns.length - 1) * GAP_X + 20, height = rows * (H + GAP_Y) + 10;
    columns.forEach((c, i) => c.forEach((g, k) => {
        g.x = 4 + i * (W + GAP_X);
        g.y = 8 + (rows - c.length) * (H + GAP_Y) / 2 + k * (H + GAP_Y);
    }));
    const svg = s("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": list.map(g => `${name(g)} ${g.wants.length ? `waits for ${plural(g.wants.length, "rank")} ${ranges(g.wants)}` : "waits for nobody"}`).join(". ")},
        s("defs", null, s("marker", {id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto"}, s("path", {class: "tip", d: "M0 0L8 4L0 8z"}))));
    for (const g of list)
        for (const t of g.next) {
            const back = t.x <= g.x;
            svg.append(s("path", {class: "arrow", "marker-end": "url(#tip)", d: back ?
                `M${g.x + W / 2} ${g.y}C${g.x + W / 2} ${g.y - 30} ${t.x + W / 2} ${t.y + H + 30} ${t.x + W / 2} ${t.y + H}` :
                `M${g.x + W} ${g.y + H / 2}C${g.x + W + GAP_X / 2} ${g.y + H / 2} ${t.x - GAP_X / 2} ${t.y + H / 2} ${t.x - 2} ${t.y + H / 2}`}));
        }
    for (const g of list) {
        const root = !g.next.length;
        svg.append(s("g", null, s("rect", {class: `box ${root ? "root" : ""}`, x: g.x, y: g.y, width: W, height: H, rx: 4}),
            s("text", {x: g.x + 10, y: g.y + 21, "font-weight": 600}, name(g)), s("text", {class: "dim", x: g.x + 10, y: g.y + 40}, short(g.place || "place unknown")),
            s("title", null, `${name(g)}: ${g.place}`)));
    }
    return svg;
}

const short = t => t.length > 38 ? `${t.slice(0, 37)}…` : t;
const name = g => typeof g.ranks[0] === "number" ? `${g.ranks.length === 1 ? "rank" : `${g.ranks.length} ranks:`} ${ranges(g.ranks, 5)}` : g.ranks.slice(0, 4).join(", ");

export function open(root, ctx) {
    let drawn;
    function show() {
        const report = ctx.hang();
        if (report === drawn)
            return;
        drawn = report;
        fill(root, h("section", {class: "part hang"}, !report ? h("p", {class: "empty"}, "No hang was reported.") : [
            (report.waits || []).length ? [h("h2", {class: "part-head"}, "Who waits for whom"), h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Who waits for whom"}, draw(report.waits))] : null,
            h("h2", {class: "part-head"}, "Report"), h("pre", {class: "block", tabindex: "0"}, report.text || "")]));
    }
    show();
    return {changed: show, close() {}};
}

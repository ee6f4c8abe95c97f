// rankmap.js - the map of ranks on a canvas: thousands of elements would be slow. Keys move a cursor, and a
// live region says what is below it. A state differs by its shape where a cell has room for one, and a
// failed rank is always a whole cell while the others leave a margin.
import {fill, h, say} from "./dom.js";
import {plural} from "./format.js";
import {canonical, shape} from "./states.js";
import {hit, mapLayout, move} from "./rankmap_layout.js";

const LABEL = 42;
const LOUD = new Set(["failed", "lost"]);

function summary(ranks) {
    const n = {};
    for (const r of ranks)
        n[r.state] = (n[r.state] || 0) + 1;
    return `${plural(ranks.length, "rank")}: ${Object.entries(n).map(([s, k]) => `${k} ${s}`).join(", ")}`;
}

// options: {ranks: [{rank, replica, state, first, heat}], describe(r), choose(r)}; heat null or 0…1
export function rankMap(box, options) {
    let ranks = [], map = null, at = -1;
    const canvas = h("canvas", {tabindex: "0", role: "application", "aria-roledescription": "map of ranks"});
    const words = h("div", {class: "map-words"});
    fill(box, canvas, words);
    const g = canvas.getContext("2d");

    function draw() {
        if (!map)
            return;
        const css = getComputedStyle(canvas);
        const colours = {};
        const of = name => colours[name] = colours[name] || css.getPropertyValue(name).trim() && resolve(name);
        const resolve = name => {
            words.style.color = `var(${name})`;
            const c = getComputedStyle(words).color;
            words.style.color = "";
            return c;
        };
        const ratio = window.devicePixelRatio || 1;
        canvas.width = Math.ceil(map.width * ratio);
        canvas.height = Math.ceil((map.height + 4) * ratio);
        canvas.style.width = `${map.width}px`;
        canvas.style.height = `${map.height + 4}px`;
        g.setTransform(ratio, 0, 0, ratio, 0, 2 * ratio);
        g.clearRect(0, -2, map.width, map.height + 4);
        g.font = "10px system-ui, sans-serif";
        g.textBaseline = "middle";
        g.textAlign = "right";
        g.fillStyle = of("--dim");
        const every = Math.max(1, Math.ceil(12 / ((map.rows[1] || {y: map.pitch}).y)));
        map.rows.forEach((r, i) => {
            if (i % every === 0)
                g.fillText(String(r.first), LABEL - 8, r.y + map.cell / 2);
        });
        const paths = {};
        ranks.forEach((r, i) => {
            const {x, y} = map.at[i], c = map.cell, state = canonical(r.state);
            const colour = of(`--s-${state === "starting" || state === "never-started" ? state === "starting" ? "waiting" : "stopped" : state === "stopping" ? "paused" : state}`);
            if (r.heat !== null && r.heat !== undefined && !LOUD.has(state)) {
                g.globalAlpha = 0.08 + 0.92 * Math.max(0, Math.min(1, r.heat));
                g.fillStyle = of("--accent");
                g.fillRect(x, y, c, c);
                g.globalAlpha = 1;
                return;
            }
            g.fillStyle = colour;
            if (LOUD.has(state)) {
                g.fillRect(x, y, c, c);
            } else {
                g.globalAlpha = state === "succeeded" || state === "running" ? 0.45 : state === "stopped" || state === "cancelled" ? 0.3 : 0.85;
                g.fillRect(x + 1, y + 1, c - 2, c - 2);
                g.globalAlpha = 1;
            }
            if (c >= 10 && shape(state)) {
                const p = paths[state] = paths[state] || new Path2D(shape(state));
                g.save();
                const k = (c - 4) / 16;
                g.translate(x + 2, y + 2);
                g.scale(k, k);
                g.strokeStyle = LOUD.has(state) ? of("--ground") : colour;
                g.fillStyle = g.strokeStyle;
                g.lineWidth = Math.max(2, 1.3 / k);
                if (state === "running")
                    g.fill(p);
                else
                    g.stroke(p);
                g.restore();
            }
        });
        const ring = (i, colour, w) => {
            const {x, y} = map.at[i];
            g.strokeStyle = colour;
            g.lineWidth = w;
            g.strokeRect(x - 1, y - 1, map.cell + 2, map.cell + 2);
        };
        ranks.forEach((r, i) => r.first && ring(i, of("--text"), 2));
        if (at >= 0 && at < ranks.length)
            ring(at, of("--accent"), 2);
    }

    function tell(i, aloud) {
        words.textContent = i >= 0 ? options.describe(ranks[i]) : "";
        if (aloud && i >= 0)
            say(words.textContent);
    }

    const point = e => {
        const r = canvas.getBoundingClientRect();
        return map ? hit(map, e.clientX - r.left, e.clientY - r.top - 2) : -1;
    };
    canvas.addEventListener("mousemove", e => tell(point(e) >= 0 ? point(e) : at));
    canvas.addEventListener("mouseleave", () => tell(at));
    canvas.addEventListener("click", e => {
        const i = point(e);
        if (i < 0)
            return;
        at = i;
        draw();
        tell(i);
        options.choose(ranks[i]);
    });
    canvas.addEventListener("keydown", e => {
        if (!map)
            return;
        if (e.key === "Enter" && at >= 0) {
            options.choose(ranks[at], true);
        } else {
            const to = move(map, at < 0 ? 0 : at, e.key);
            if (to === null)
                return;
            at = at < 0 && e.key !== "End" ? 0 : to;
            draw();
            tell(at, true);
        }
        e.preventDefault();
        e.stopPropagation();
    });
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", draw);
    const themes = new MutationObserver(draw);
    themes.observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});

    return {
        set(list) {
            ranks = list;
            map = mapLayout(ranks, box.clientWidth || 600, LABEL);
            canvas.setAttribute("aria-label", `${summary(ranks)}. Arrow keys move, Enter opens the log.`);
            draw();
        },
        close() {
            dark.removeEventListener("change", draw);
            themes.disconnect();
        },
    };
}

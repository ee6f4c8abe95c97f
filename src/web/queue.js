// queue.js - what the machine has, who uses it, who waits and why, and the shares of the queues.
import * as api from "./api.js";
import {atMost, fill, h} from "./dom.js";
import {bytes, count, duration, full, percent, when} from "./format.js";
import {jobHref, ranksText} from "./jobs.js";
import {stream} from "./stream.js";

function meter(name, used, total, show) {
    const part = h("i", {class: "s-running"});
    part.style.width = `${total > 0 ? Math.min(100, 100 * used / total) : 0}%`;
    return h("div", {class: "meter"}, h("div", {class: "what"}, h("b", null, name), h("span", {class: "num"}, `${show(used)} of ${show(total)} used`)),
        h("div", {class: "bar", "aria-hidden": "true"}, part));
}

function table(caption, heads, rows, none) {
    if (!rows.length)
        return h("p", {class: "dim"}, none);
    return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption}, h("table", {class: "queue-table"}, h("caption", {class: "hidden-text"}, caption),
        h("thead", null, h("tr", null, heads.map(t => h("th", {scope: "col"}, t)))), h("tbody", null, rows)));
}

const link = j => h("a", {href: jobHref(j.id), title: j.id}, j.name || j.id);

function quota(q) {
    if (!q)
        return "none";
    return Object.entries(q).map(([k, v]) => `${/memory/.test(k) ? bytes(v) : count(v)} ${k}`).join(", ");
}

function share(q) {
    const part = h("i", {class: "s-running"}), v = q.share || 0;
    part.style.width = `${Math.min(100, 100 * v)}%`;
    return [h("span", {class: "bar", "aria-hidden": "true"}, part), percent(100 * v)];
}

export function open(root) {
    document.title = "Queue – Muster";
    let skew = 0, closed = false;
    const box = h("div");
    fill(root, h("h1", {class: "hidden-text"}, "Queue"), box);

    function draw(q) {
        const m = q.machine || {}, used = m.used || {}, gpus = m.gpus || [], now = Date.now() + skew;
        const names = new Map([...(q.running || []), ...(q.waiting || [])].map(j => [j.id, j.name]));
        fill(box, h("div", {class: "meters"}, meter("CPUs", used.cpus || 0, m.cpus || 0, x => count(Math.round(10 * x) / 10)), meter("Memory", used.memory || 0, m.memory || 0, bytes),
            gpus.length ? meter("GPUs", used.gpus || 0, gpus.length, count) : h("div", {class: "meter"}, h("div", {class: "what"}, h("b", null, "GPUs"), h("span", {class: "dim"}, "none on this machine")))),
        gpus.length ? h("div", {class: "gpus", role: "group", "aria-label": "GPUs"}, gpus.map((g, i) => h("span", {class: `gpu ${g.job ? "used" : ""}`, title: `${g.id} ${g.name || ""}`}, `GPU ${i}: `,
            g.job ? h("a", {href: jobHref(g.job)}, names.get(g.job) || g.job) : "free"))) : null,
        h("section", {class: "part"}, h("h2", {class: "part-head"}, "Queues"), table("Queues", ["Queue", "Share of the machine", "Weight", "Priority", "Quota", "Running", "Waiting"], (q.queues || []).map(x => h("tr", null,
            h("td", null, h("a", {href: `#/jobs${api.query({queue: x.name})}`}, x.name)), h("td", {class: "num-left"}, share(x)), h("td", null, x.weight), h("td", null, x.priority), h("td", null, quota(x.quota)),
            h("td", null, count(x.running)), h("td", null, count(x.waiting)))), "No queues.")),
        h("section", {class: "part"}, h("h2", {class: "part-head"}, `Running (${count((q.running || []).length)})`), table("Running jobs", ["Job", "Queue", "Ranks", "Running for"], (q.running || []).map(j => h("tr", null,
            h("td", null, link(j)), h("td", null, j.queue || ""), h("td", null, j.ranks ? `${count(j.ranks.total)} (${ranksText(j.ranks)})` : ""),
            h("td", {class: "num-left"}, j.started ? duration(now - Date.parse(j.started)) : ""))), "Nothing runs.")),
        h("section", {class: "part"}, h("h2", {class: "part-head"}, `Waiting (${count((q.waiting || []).length)})`), table("Waiting jobs", ["Place", "Job", "Queue", "Waits for", "Ahead", "Waiting for", "Starts by"], (q.waiting || []).slice(0, 500).map(j => h("tr", null,
            h("td", null, j.place ? count(j.place) : ""), h("td", null, link(j)), h("td", null, j.queue || ""), h("td", null, j.waiting || ""), h("td", null, j.ahead !== null && j.ahead !== undefined ? count(j.ahead) : ""),
            h("td", null, j.submitted ? duration(now - Date.parse(j.submitted)) : ""), h("td", {title: full(j.latest)}, j.latest ? when(j.latest, now) : ""))), "Nothing waits.")));
    }

    const load = async () => {
        try {
            const q = await api.get("/queue");
            if (!closed)
                draw(q);
        } catch (e) {
            if (!closed && e.status !== 401 && !box.childElementCount)
                fill(box, h("p", {class: "empty"}, e.message));
        }
    };
    const reload = atMost(load, 1500);
    const events = stream({}, {jobs: reload, reconnected: load});
    api.get("/version").then(v => {
        skew = Date.parse(v.now) - Date.now();
    }, () => {});
    load();
    return {
        close() {
            closed = true;
            events.close();
            reload.stop();
        },
    };
}

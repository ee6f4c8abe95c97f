// plan.js - what was started: commands, working directories, addresses, ports, the environment with
// where each value comes from. A page of processes at a time.
import * as api from "./api.js";
import {fill, h} from "./dom.js";
import {count, shellWord} from "./format.js";

const PAGE = 100;

export function commandText(p) {
    return p.shell || (p.argv ? p.argv.map(shellWord).join(" ") : null);
}

export function notesList(notes) {
    return h("ul", {class: "notes"}, notes.map(n => h("li", null, h("span", {class: `sev-${n.severity}`}, n.severity), h("span", null, n.message))));
}

function processName(p) {
    return p.rank === null || p.rank === undefined ? p.replica : `${p.replica} / rank ${p.rank}`;
}

export function processDetails(p, find) {
    const ports = Object.entries(p.ports || {});
    const env = Object.entries(p.env || {}).filter(([k, v]) => !find || `${k}=${v}`.toLowerCase().includes(find.toLowerCase()));
    return [h("dl", {class: "pairs"},
        h("dt", null, "host"), h("dd", null, `${p.host || ""}${p.address ? ` (${p.address})` : ""}`),
        p.rank !== null && p.rank !== undefined ? [h("dt", null, "rank"), h("dd", null, `${p.rank}${p.local_rank !== null && p.local_rank !== undefined ? `, local rank ${p.local_rank}` : ""}`)] : null,
        h("dt", null, "directory"), h("dd", {class: "mono"}, p.workdir || ""),
        ports.length ? [h("dt", null, "ports"), h("dd", null, ports.map(([k, v]) => `${k} ${v}`).join(", "))] : null),
    h("h2", {class: "part-head"}, p.shell ? "Command (shell)" : "Command"),
    h("pre", {class: "block", tabindex: "0"}, commandText(p) || "waits; the launcher starts ranks in it"),
    h("table", {class: "env"}, h("caption", {class: "hidden-text"}, "Environment"),
        h("thead", null, h("tr", null, ["Variable", "Value", "From"].map(t => h("th", {scope: "col"}, t)))),
        h("tbody", null, env.map(([k, v]) => h("tr", null, h("td", null, k), h("td", null, v), h("td", {class: "origin"}, p.env_origin && p.env_origin[k] || "")))))];
}

export function open(root, ctx) {
    let closed = false, from = 0, chosen = 0, find = "", job = null, total = 0;
    const list = h("div", {class: "pick", role: "group", "aria-label": "Processes"}), details = h("div"), pages = h("div", {class: "pages"}), notes = h("div");
    const search = h("input", {type: "search", placeholder: "Filter variables", "aria-label": "Filter variables", oninput: () => {
        find = search.value;
        drawDetails();
    }});

    function drawList() {
        fill(list, job.processes.map((p, i) => h("button", {"aria-pressed": String(i === chosen), onclick: () => {
            chosen = i;
            for (const [k, b] of Array.from(list.children).entries())
                b.setAttribute("aria-pressed", String(k === i));
            drawDetails();
        }}, processName(p))));
        fill(pages, total > PAGE ? [h("span", {class: "num"}, `${count(from + 1)}–${count(from + job.processes.length)} of ${count(total)}`),
            h("button", {disabled: from === 0, onclick: () => load(from - PAGE)}, "Previous"),
            h("button", {disabled: from + job.processes.length >= total, onclick: () => load(from + PAGE)}, "Next")] : null);
    }

    function drawDetails() {
        const p = job.processes[chosen];
        fill(details, p ? processDetails(p, find) : h("p", {class: "empty"}, "No process."));
    }

    async function load(at) {
        try {
            const a = await api.get(`${ctx.url}/plan${api.query({from: at, n: PAGE})}`);
            if (closed)
                return;
            from = at;
            chosen = 0;
            job = (a.jobs || [a])[0];
            total = a.total || job.total || job.processes_total || (job.processes.length < PAGE ? at + job.processes.length : (ctx.report().live && ctx.report().live.ranks || []).length || at + PAGE + 1);
            fill(root, h("section", {class: "part"}, (job.notes || []).length ? fill(notes, notesList(job.notes)) : null),
                h("div", {class: "tools"}, h("h2", null, "Processes"), h("span", {class: "space"}), search),
                h("div", {class: "split"}, h("div", null, list, pages), details));
            drawList();
            drawDetails();
        } catch (e) {
            if (!closed)
                fill(root, h("p", {class: "empty"}, e.status === 404 ? "Nothing was planned yet: a job is planned when it starts." : e.message));
        }
    }

    load(0);
    return {
        close() {
            closed = true;
        },
    };
}

// jobs.js - the list of jobs: what each does or waits for, filters, search, pages of 60. What is
// chosen is in the address, so that it survives a reload and can be sent to somebody.
import * as api from "./api.js";
import {atMost, fill, h, later, say} from "./dom.js";
import {count, duration, full, plural, when} from "./format.js";
import {STATES, badge, hasEnded, icon, stateOf} from "./states.js";
import {stream} from "./stream.js";

const PAGE = 60; // with it the first view has less than 100 kB
const USUAL = 50; // the priority of a job for which none was given
const SORTS = [["submitted", "Newest first"], ["started", "Last started"], ["name", "Name"]];

export function jobHref(id, part, params) {
    return `#/job/${encodeURIComponent(id)}${part ? `/${part}` : ""}${api.query(params || {})}`;
}

export function ranksText(r) {
    const parts = [];
    if (r.failed)
        parts.push(`${count(r.failed)} failed`);
    if (r.running)
        parts.push(`${count(r.running)} running`);
    if (r.succeeded)
        parts.push(`${count(r.succeeded)} succeeded`);
    return parts.join(", ");
}

function ranksBar(r) {
    if (!r || !r.total)
        return null;
    const bar = h("span", {class: "bar", "aria-hidden": "true"});
    for (const [word, n] of [["succeeded", r.succeeded], ["running", r.running], ["failed", r.failed]]) {
        if (!n)
            continue;
        const part = h("i", {class: `s-${word}`});
        part.style.width = `${Math.max(3, 100 * n / r.total)}%`;
        bar.append(part);
    }
    return h("span", {class: "ranks", title: ranksText(r)}, h("span", {class: "num"}, count(r.total)), bar);
}

// The one line below the name.
function reason(job) {
    const state = stateOf(job);
    if (state === "waiting" || state === "paused") {
        const place = job.place ? `place ${count(job.place)} in the queue` : null;
        return [job.waiting, place].filter(x => x).join(" · ");
    }
    if (job.verdict)
        return job.verdict.replace(/^(failed|succeeded|cancelled|lost): /, "");
    if (job.outcome === "failed")
        return job.exit_code === null ? "failed" : `exit code ${job.exit_code}`;
    // What the colour of the bar says anyway is not said again.
    return job.ranks && state !== "succeeded" ? ranksText(job.ranks) : "";
}

function ran(job, now) {
    if (!job.started)
        return "";
    return duration((job.ended ? Date.parse(job.ended) : now) - Date.parse(job.started));
}

export function jobRow(job, now) {
    const state = stateOf(job);
    return h("tr", {data: {id: job.id, state}},
        h("td", {class: "c-state"}, badge(state)),
        h("td", {class: "c-job"}, h("div", {class: "job-cell"},
            h("div", {class: "name"}, h("a", {href: jobHref(job.id)}, job.name || job.id),
                h("span", {class: "id"}, job.id),
                job.source === "run" ? h("span", {class: "tag", title: "a foreground run of muster run"}, "run") : null),
            h("div", {class: `why ${state === "failed" || state === "lost" ? "bad" : ""}`, title: job.verdict}, reason(job)))),
        h("td", {class: "c-ranks"}, ranksBar(job.ranks)),
        h("td", {class: "c-restarts num"}, job.restarts ? count(job.restarts) : ""),
        h("td", {class: "c-queue"}, job.queue || "",
            job.priority && job.priority !== USUAL ? h("span", {class: "dim"}, ` priority ${job.priority}`) : null),
        h("td", {class: "c-submitted num", title: full(job.submitted)}, when(job.submitted, now)),
        h("td", {class: "c-ran num", data: {running: hasEnded(job) ? "" : "1"}}, ran(job, now)));
}

export function tableHead() {
    return h("thead", null, h("tr", null,
        [["state", "State"], ["job", "Job"], ["ranks", "Ranks"], ["restarts", "Restarts"], ["queue", "Queue"],
            ["submitted", "Submitted"], ["ran", "Ran for"]].map(([c, t]) =>
            h("th", {scope: "col", class: `c-${c}`}, t))));
}

export function open(root, address) {
    document.title = "Jobs – Muster";
    let want, answer = null, asked = 0, skew = 0;
    const rows = new Map(); // id: {job, tr}
    const back = [];

    // --- what is asked for ---

    const read = a => {
        const p = a.params;
        want = {state: (p.get("state") || "").split(",").filter(x => STATES.includes(x)), q: p.get("q") || "",
            queue: p.get("queue") || "", sort: p.get("sort") || "submitted", after: p.get("after") || ""};
    };
    const go = (change, replace) => {
        const w = {...want, after: "", ...change};
        const hash = `#/jobs${api.query({state: w.state.join(","), q: w.q, queue: w.queue,
            sort: w.sort === "submitted" ? "" : w.sort, after: w.after})}`;
        if (replace) {
            history.replaceState(null, "", hash);
            read({params: new URLSearchParams(hash.split("?")[1] || "")});
            load();
        } else {
            location.hash = hash;
        }
    };

    // --- the frame ---

    const chips = h("div", {class: "chips", role: "group", "aria-label": "Filter by state"});
    const search = h("input", {type: "search", placeholder: "Search name or id", "aria-label": "Search name or id",
        oninput: later(() => go({q: search.value.trim()}, true), 200)});
    const sort = h("select", {"aria-label": "Sort", onchange: () => go({sort: sort.value})},
        SORTS.map(([v, t]) => h("option", {value: v}, t)));
    // Shown if there is another queue than the usual one; the others' names are asked for when it is used: the answer is long.
    const queue = h("select", {"aria-label": "Queue", hidden: true, onchange: () => go({queue: queue.value}), onfocus: () => allQueues()},
        h("option", {value: ""}, "All queues"));
    const body = h("tbody");
    const table = h("table", {class: "jobs"}, h("caption", {class: "hidden-text"}, "Jobs"), tableHead(), body);
    const foot = h("div", {class: "pages"});
    const message = h("div", {class: "empty", hidden: true});
    fill(root, h("h1", {class: "hidden-text"}, "Jobs"),
        h("div", {class: "tools"}, chips, h("span", {class: "space"}), search, queue, sort),
        table, message, foot);

    function drawChips() {
        const counts = answer && answer.counts || {};
        const all = STATES.reduce((n, s) => n + (counts[s] || 0), 0);
        const focused = chips.contains(document.activeElement) ? document.activeElement.dataset.state : null;
        fill(chips, h("button", {class: "chip", "aria-pressed": String(want.state.length === 0), data: {state: ""},
            onclick: () => go({state: []})}, "All ", h("span", {class: "num"}, count(all))),
        STATES.filter(s => counts[s] || want.state.includes(s)).map(s => h("button", {class: "chip", data: {state: s},
            "aria-pressed": String(want.state.includes(s)),
            onclick: () => go({state: want.state.includes(s) ? want.state.filter(x => x !== s) : [...want.state, s]})},
        icon(s), s, " ", h("span", {class: "num"}, count(counts[s] || 0)))));
        if (focused !== null)
            chips.querySelector(`[data-state="${focused}"]`)?.focus();
    }

    const now = () => Date.now() + skew;

    function draw() {
        const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.id : null;
        rows.clear();
        fill(body, answer.jobs.map(job => {
            const tr = jobRow(job, now());
            rows.set(job.id, {job, tr});
            return tr;
        }));
        if (focused && rows.has(focused))
            rows.get(focused).tr.querySelector("a").focus();
        drawChips();
        const n = answer.jobs.length, from = back.length * PAGE;
        table.hidden = n === 0;
        message.hidden = n > 0;
        if (n === 0)
            fill(message, want.q || want.state.length || want.queue ?
                ["No job matches. ", h("a", {href: "#/jobs"}, "Show all jobs")] :
                ["No jobs yet. ", h("a", {href: "#/submit"}, "Submit one"), " or run ", h("code", null, "muster submit FILE"), "."]);
        fill(foot, n === 0 || !answer.next && !want.after ? null : [h("span", {class: "num"}, want.after && !back.length ? plural(answer.total, "job") :
            `${count(from + 1)}–${count(from + n)} of ${count(answer.total)}`),
        h("button", {disabled: !want.after, onclick: () => {
            const to = back.pop();
            go({after: to || ""});
        }}, "Newer"),
        h("button", {disabled: !answer.next, onclick: () => {
            back.push(want.after);
            go({after: answer.next});
        }}, "Older")]);
    }

    async function load() {
        const mine = ++asked;
        if (document.activeElement !== search)
            search.value = want.q;
        sort.value = want.sort;
        try {
            const a = await api.get(`/jobs${api.query({state: want.state.join(","), q: want.q, queue: want.queue,
                sort: want.sort, order: want.sort === "name" ? "asc" : "desc", limit: PAGE, after: want.after})}`);
            if (mine !== asked)
                return;
            answer = a;
            for (const j of a.jobs)
                addQueue(j.queue);
            addQueue(want.queue);
            queue.value = want.queue;
            draw();
            if (want.q)
                say(plural(a.total, "job"));
        } catch (e) {
            if (mine === asked && e.status === 400 && want.after) // that job was deleted
                go({after: ""});
            else if (mine === asked && e.status !== 401 && !answer)
                fill(message, e.message).hidden = false;
        }
    }

    let askedQueues = false;
    function allQueues() {
        if (askedQueues)
            return;
        askedQueues = true;
        api.get("/queue").then(q => (q.queues || []).forEach(x => addQueue(x.name)), () => {});
    }

    function addQueue(name) {
        if (name && name !== "default")
            queue.hidden = false;
        if (name && !Array.from(queue.options).some(o => o.value === name))
            queue.append(h("option", {value: name}, name));
    }

    // --- what changes ---

    const reload = atMost(load, 1000);
    const events = stream({}, {
        jobs(data) {
            let unknown = false;
            for (const job of data.changed || []) {
                const row = rows.get(job.id);
                if (!row) {
                    unknown = true;
                    continue;
                }
                if (want.state.length && !want.state.includes(stateOf(job)))
                    unknown = true;
                if (stateOf(row.job) !== stateOf(job))
                    say(`${job.name}: ${stateOf(job)}`);
                row.job = job;
                const focused = row.tr.contains(document.activeElement);
                const tr = jobRow(job, now());
                row.tr.replaceWith(tr);
                row.tr = tr;
                if (focused)
                    tr.querySelector("a").focus();
            }
            if ((data.removed || []).length)
                unknown = true;
            if (data.counts && answer) {
                answer.counts = data.counts;
                drawChips();
            }
            if (unknown)
                reload();
        },
        reconnected: load,
    });
    const tick = setInterval(() => {
        for (const {job, tr} of rows.values())
            if (!hasEnded(job) && job.started)
                tr.querySelector(".c-ran").textContent = ran(job, now());
    }, 1000);

    read(address);
    if (want.after)
        back.length = 0;
    search.value = want.q;
    load();
    api.get("/version").then(v => {
        skew = Date.parse(v.now) - Date.now();
    }, () => {});
    return {
        update(a) {
            read(a);
            if (!want.after)
                back.length = 0;
            load();
        },
        close() {
            events.close();
            clearInterval(tick);
            reload.stop();
        },
        key(e) {
            if (e.key !== "j" && e.key !== "k")
                return false;
            const links = Array.from(body.querySelectorAll(".name a"));
            const at = links.indexOf(document.activeElement);
            const to = links[Math.max(0, Math.min(links.length - 1, at + (e.key === "j" ? 1 : -1)))];
            if (to)
                to.focus();
            return true;
        },
    };
}

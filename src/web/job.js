// job.js - a job's page: verdict, what can be done to it, and its sections. The report comes over the
// stream while the job runs and is asked for once when it has ended.
import * as api from "./api.js";
import {confirm} from "./confirm.js";
import {atMost, fill, h, say} from "./dom.js";
import {count, duration, full, plural, when} from "./format.js";
import {jobHref} from "./jobs.js";
import {pieces, classes} from "./ansi.js";
import {badge, hasEnded, isPlatforms, retries, stateOf} from "./states.js";
import {stream} from "./stream.js";

const PARTS = [["", "Overview", () => import("./overview.js")], ["logs", "Logs", () => import("./logs.js")], ["plan", "Plan", () => import("./plan.js")],
    ["file", "File", () => import("./file.js")], ["events", "Events", () => import("./events.js")], ["hang", "Hang report", () => import("./hang.js")]];

const OUTPUTS = 50; // names that are shown

// Reports have control characters as "\\x1b": colours come back, the others stay what they are.
export function logText(line) {
    return pieces(line.replace(/\\x1b(?=\[[0-9;:]*m)/g, "\u001b")).map(p => {
        const c = `${classes(p.look)}${p.control ? " ctl" : ""}`.trim();
        return c ? h("span", {class: c}, p.text) : p.text;
    });
}

export function open(root, address) {
    const id = address.path[0];
    const url = `/jobs/${encodeURIComponent(id)}`;
    let part = address.path[1] || "", params = address.params, view = null, viewPart = null, closed = false;
    let report = null, skew = 0, live = null, hang = null;
    const events = [], eventKeys = new Set();

    const ctx = {
        id, url,
        report: () => report,
        events: () => events,
        hang: () => hang,
        now: () => Date.now() + skew,
        ended: () => hasEnded(report),
        params: () => params,
        href: (p, q) => jobHref(id, p, q),
        replace(p, q) {
            history.replaceState(null, "", jobHref(id, p, q));
            params = new URLSearchParams(api.query(q));
        },
    };

    // --- the frame ---

    const head = h("div", {class: "head"}), facts = h("div", {class: "facts"}), verdict = h("div"), outputs = h("div");
    const tabs = h("nav", {class: "tabs", "aria-label": "Sections of the job"});
    const box = h("div", {class: "part-box"});
    fill(root, h("div", {class: "crumb"}, h("a", {href: "#/jobs"}, "Jobs"), " / ", id), head, facts, verdict, outputs, tabs, box);

    function drawHead() {
        const state = stateOf(report), name = report.job && report.job.name || id;
        document.title = `${name}: ${state} – Muster`;
        const acting = head.contains(document.activeElement) ? document.activeElement.dataset.act : null;
        fill(head, h("h1", null, name), badge(state), h("span", {class: "space"}), h("div", {class: "acts"}, actions(state)));
        if (acting)
            head.querySelector(`[data-act="${acting}"]`)?.focus();
        const n = retries(report), list = report.attempts || [];
        const first = list[0], last = list[list.length - 1];
        const from = report.started || first && first.started, to = report.ended || last && last.ended;
        fill(facts,
            report.job && report.job.dialect ? fact("dialect", report.job.dialect) : null,
            report.queue ? fact("queue", `${report.queue}${report.priority && report.priority !== 50 ? ` (priority ${report.priority})` : ""}`) : null,
            report.submitted ? fact("submitted", when(report.submitted, ctx.now()), full(report.submitted)) : null,
            from ? fact(hasEnded(report) ? "ran for" : "running for", duration((hasEnded(report) && to ? Date.parse(to) : ctx.now()) - Date.parse(from))) : null,
            hasEnded(report) && report.exit_code !== null && report.exit_code !== undefined ? fact("exit code", String(report.exit_code)) : null,
            list.length > 1 ? fact("attempts", String(list.length)) : null,
            list.length > 1 ? [fact("user retries", String(n.user), "after failures of the job itself"),
                fact("platform retries", String(n.platform), "after failures of machines and of the platform")] : null,
            n.restarts ? fact("restarts", String(n.restarts)) : null,
            report.isolation ? fact("isolation", report.isolation, null, "wide") : null,
            report.run_dir ? fact("run directory", report.run_dir, null, "wide") : null);
    }

    function fact(name, value, title, wide) {
        return h("span", {title, class: wide}, `${name} `, h("b", null, value));
    }

    function actions(state) {
        const name = report.job && report.job.name || id;
        const button = (act, label, o) => h("button", {data: {act}, class: o.danger ? "danger" : null, onclick: () => confirm({...o, action: label})}, label);
        const act = (path, body) => () => api.post(`${url}/${path}`, body).then(load);
        const now = h("input", {type: "checkbox"});
        if (!hasEnded(report)) {
            const cancel = button("cancel", "Cancel job", {danger: true, title: `Cancel ${name}?`, text: "Its processes get SIGTERM, and SIGKILL after the grace period.",
                extra: h("label", {class: "check"}, now, "kill at once, without a grace period"), run: () => act("cancel", {now: now.checked})()});
            if (state === "paused")
                return [button("resume", "Resume", {title: `Resume ${name}?`, text: "It continues, or takes its place in the queue again.", run: act("resume")}), cancel];
            return [button("pause", "Pause", {title: `Pause ${name}?`, text: state === "waiting" ? "It keeps its place but does not start before it is resumed." :
                "Its processes stop where they are until it is resumed.", run: act("pause")}), cancel];
        }
        return [button("retry", "Retry", {title: `Run ${name} again?`, text: "The same submission becomes a new job.",
            run: () => api.post(`${url}/retry`).then(a => {
                location.hash = jobHref(a.ids[0]);
            })}),
        button("delete", "Delete", {danger: true, title: `Delete ${name}?`, text: "Its record, logs and run directory are removed. This cannot be undone.",
            run: () => api.del(url).then(() => {
                location.hash = "#/jobs";
            })})];
    }

    // The answer to "what happened, to what, what now?", with the way to the log of the first failure.
    function drawVerdict() {
        const state = stateOf(report), c = report.cause;
        const sentence = hasEnded(report) ? report.verdict || state : state === "waiting" || !report.live && report.waiting ?
            [report.waiting || "waiting", report.place ? `place ${report.place} in the queue` : ""].filter(x => x).join(" · ") :
            report.live && report.live.doing || report.waiting || state;
        const parts = [h("div", {class: "sentence"}, sentence)];
        if (c && c.kind !== "cancelled") {
            const who = c.rank !== null && c.rank !== undefined ? `rank ${c.rank} on ${c.replica}` : c.replica;
            parts.push(h("div", {class: "first"},
                who ? h("span", null, "First failure: ", h("b", null, who), c.at ? [" at ", h("time", {datetime: c.at}, full(c.at).slice(11))] : null) : null,
                h("span", {class: "dim"}, c.message), isPlatforms(c) ? h("span", {class: "tag"}, "platform") : null));
            if ((c.log_tail || []).length)
                parts.push(h("pre", {tabindex: "0", "aria-label": `last lines of ${who || "the log"}`}, c.log_tail.map((l, i) => [i ? "\n" : "", logText(l)])));
            if (c.replica)
                parts.push(h("div", null, h("a", {href: ctx.href("logs", c.rank !== null && c.rank !== undefined ? {rank: c.rank, end: 1} : {replica: c.replica, end: 1})},
                    "Open this log at its last line")));
        }
        if (verdict.dataset.drawn === JSON.stringify([sentence, c, state]))
            return;
        verdict.dataset.drawn = JSON.stringify([sentence, c, state]);
        fill(verdict, h("section", {class: `verdict s-${state}`, "aria-label": "Verdict"}, parts));
    }

    // What the job left in its run directory besides its records, as paths on the daemon's machine.
    function drawOutputs() {
        const list = report.outputs || [], dir = `${report.run_dir || ""}/`, key = JSON.stringify(list);
        if (outputs.dataset.drawn === key)
            return;
        outputs.dataset.drawn = key;
        fill(outputs, list.length ? h("section", {class: "outputs", "aria-label": "Output files"}, h("h2", null, plural(list.length, "output file")),
            h("ul", null, list.slice(0, OUTPUTS).map(p => h("li", null, h("code", {title: p}, p.startsWith(dir) ? p.slice(dir.length) : p)))),
            list.length > OUTPUTS ? h("p", {class: "dim"}, `${count(list.length - OUTPUTS)} more in ${report.run_dir}`) : null) : null);
    }

    function drawTabs() {
        fill(tabs, PARTS.filter(([p]) => (p !== "hang" || hang)).map(([p, t]) =>
            h("a", {href: ctx.href(p), "aria-current": p === part ? "page" : null}, t)));
    }

    async function drawPart() {
        const wanted = PARTS.find(p => p[0] === part) || PARTS[0];
        part = wanted[0];
        root.dataset.part = part ? "other" : "overview";
        drawTabs();
        if (viewPart === part && view) {
            if (view.address)
                view.address();
            return;
        }
        if (view)
            view.close();
        view = null;
        viewPart = part;
        fill(box);
        await api.trust();
        const module = await wanted[2]();
        if (viewPart === wanted[0] && !view && !closed)
            view = module.open(box, ctx);
    }

    // --- what is known ---

    let lastState = null;
    const draw = atMost(() => {
        if (closed)
            return;
        drawHead();
        drawVerdict();
        drawOutputs();
        const state = stateOf(report);
        if (lastState && state !== lastState)
            say(`${report.job && report.job.name}: ${state}`);
        lastState = state;
        if (view && view.changed)
            view.changed();
    }, 250);

    function take(r) {
        const firstTime = !report;
        report = r;
        if (firstTime) {
            drawHead();
            drawVerdict();
            lastState = stateOf(report);
            drawPart().catch(e => fill(box, h("p", {class: "empty"}, e.message)));
        } else {
            draw();
        }
        if (!hang)
            loadExtras();
    }

    function addEvents(list) {
        let news = false;
        for (const e of list) {
            if (eventKeys.has(e.seq))
                continue;
            eventKeys.add(e.seq);
            events.push(e);
            news = true;
        }
        if (news)
            events.sort((a, b) => a.seq - b.seq);
        return news;
    }

    async function load() {
        try {
            take(await api.get(url));
        } catch (e) {
            if (!report && e.status)
                missing(e);
        }
    }

    function missing(e) {
        if (report || closed)
            return;
        document.title = "Job not found – Muster";
        fill(root, h("div", {class: "notice"}, h("h1", null, e.status === 404 ? "Job not found" : "The job cannot be shown"), h("p", null, e.message),
            h("p", null, h("a", {href: "#/jobs"}, "All jobs"))));
    }

    function loadExtras() {
        if (![report, ...report.attempts || []].some(x => x.cause && x.cause.kind === "hang"))
            return;
        api.get(`${url}/hang`).then(a => {
            hang = a;
            drawTabs();
            draw();
        }, () => {});
    }

    function loadEvents() {
        const last = events.length ? events[events.length - 1].seq : null;
        return api.get(`${url}/events${api.query({after: last})}`).then(a => addEvents(a.events || []) && report && draw(), () => {});
    }

    const lineTakers = new Set();
    // The log section reads the lines of this stream: one connection per page.
    ctx.onLines = f => {
        lineTakers.add(f);
        restart();
        return () => {
            lineTakers.delete(f);
            restart();
        };
    };

    let withLogs = null;
    function restart() {
        const logs = lineTakers.size > 0;
        if (closed || logs === withLogs)
            return;
        withLogs = logs;
        let begun = false;
        if (live)
            live.close();
        live = stream({job: id, logs: logs ? 1 : null}, {
            job(r) {
                take(r);
                if (begun)
                    return;
                begun = true;
                lineTakers.forEach(f => f({started: true}));
            },
            event: e => addEvents([e]) && report && draw(),
            lines: l => lineTakers.forEach(f => f(l)),
            end() {
                load();
                loadEvents();
                // Something has to notice when the daemon comes or goes, and when the job is retried.
                live.close();
                live = stream({}, {jobs: d => (d.changed || []).some(j => j.id === id) && load(), reconnected: load});
            },
            reconnected() {
                load();
                loadEvents();
                lineTakers.forEach(f => f({lines: [], gap: true}));
            },
            refused: missing,
        });
    }

    load().then(() => {
        restart();
        loadEvents();
    });
    api.get("/version").then(v => {
        skew = Date.parse(v.now) - Date.now();
    }, () => {});
    const tick = setInterval(() => report && !hasEnded(report) && !head.contains(document.activeElement) && drawHead(), 1000);

    return {
        update(a) {
            part = a.path[1] || "";
            params = a.params;
            if (report)
                drawPart().catch(() => {});
        },
        close() {
            closed = true;
            clearInterval(tick);
            draw.stop();
            if (live)
                live.close();
            if (view)
                view.close();
        },
        key(e) {
            const links = Array.from(tabs.querySelectorAll("a"));
            if (e.key >= "1" && e.key <= String(links.length)) {
                location.hash = links[Number(e.key) - 1].getAttribute("href");
                return true;
            }
            return !!(view && view.key && view.key(e));
        },
    };
}


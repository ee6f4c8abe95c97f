#!/usr/bin/env node
// page.js - how soon the page is there, and how many bytes its first view has, with 10,000 jobs stored.
//
//     bench/page.js RUNS      rows as bench/run has them, separated by tabs; called by `make bench ONLY=page`
//
// A view is there when its rows (its time line) are in the document and a frame with them was painted; the clock is
// the browser's own, from the beginning of the navigation. What it is compared with is a page of the same server that
// has nothing in it.
"use strict";
const t = require("../t/web/lib.js");

const JOBS = 10000, FIRST_VIEW = 100e3, SOON = 1000;
const median = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const quartile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * q))];
const row = (...cells) => process.stdout.write(cells.join("\t") + "\n");

async function painted(p, url, selector) {
    await p.evaluate(s => sessionStorage.setItem("bench", s), selector);
    await p.goto("about:blank");
    await p.goto(url);
    return p.waitForFunction(() => window.paintedAt, null, {polling: 50}).then(h => h.jsonValue());
}

// Runs before every page: notes when the selector is there and the next frame is over.
const WATCH = () => {
    const selector = sessionStorage.getItem("bench");
    const look = () => {
        if (selector && document.querySelector(selector))
            requestAnimationFrame(() => setTimeout(() => window.paintedAt = performance.now()));
        else
            requestAnimationFrame(look);
    };
    look();
};

t.main(async () => {
    const runs = Number(process.argv[2] || 20);
    const d = await t.daemon();
    const cpus = require("os").cpus().length;
    d.muster("submit", "-n", "1", "--name", "ended", "--", "true");
    const id = d.muster("list", "-o", "json").out.match(/"id": *"([^"]+)"/)[1];
    await t.until(() => d.muster("show", "-o", "json", id).out.includes('"outcome": "succeeded"'), "a job has ended");
    d.muster("submit", "-n", String(cpus), "--", "sleep", "3600");
    d.muster("submit", "--count", String(JOBS), "-n", "1", "--", "true");
    const b = await t.browser();
    const p = await b.page(null);
    await p.addInitScript(WATCH);
    const bodies = [];
    const weigh = r => r.url().includes("/stream") || r.status() !== 200 || bodies.push(r.body().then(x => x.length));
    p.on("response", weigh);
    await p.goto(await d.link());
    await p.locator("table.jobs tbody tr").first().waitFor();
    await t.sleep(1000);
    p.off("response", weigh);
    const first = (await Promise.all(bodies)).reduce((n, x) => n + x, 0), origin = new URL(p.url()).origin;
    const all = await p.locator(".chip").first().textContent();
    if (!all.includes("10,00"))
        throw new Error(`10,000 jobs are stored, not ${all}`);
    const times = {list: [], job: [], empty: []};
    for (let i = 0; i < runs; i++) {
        times.list.push(await painted(p, `${origin}/#/jobs`, "table.jobs tbody tr"));
        times.job.push(await painted(p, `${origin}/#/job/${id}`, ".timeline svg"));
        times.empty.push(await painted(p, `${origin}/healthz`, "body"));
    }
    const base = median(times.empty);
    for (const [name, what] of [["list", "list of jobs"], ["job", "page of a job"]]) {
        const m = median(times[name]);
        row(`${JOBS} jobs stored: ${what} painted`, `${m.toFixed(0)} ms`, `${base.toFixed(0)} ms`, (m / base).toFixed(1),
            `${quartile(times[name], 0.25).toFixed(0)} to ${quartile(times[name], 0.75).toFixed(0)} ms, ${runs} runs`, "1 s", m <= SOON ? "met" : "missed");
    }
    row(`${JOBS} jobs stored: bytes of the first view`, `${(first / 1000).toFixed(0)} kB`, "", "", "", "100 kB", first <= FIRST_VIEW ? "met" : "missed");
});

#!/usr/bin/env node
// Every page in both themes and three widths: axe-core finds nothing serious, nothing is wider than the window,
// the keyboard reaches everything. The screenshots are kept in build/web. The daemon is the mock: it has a hang,
// retries, a queue that is full.
"use strict";
const t = require("./lib.js");

const FAILED = "20261118-100002-0c7y", BIG = "20261118-100001-063z", HANG = "20261118-100003-0ibx";
const BROKEN = "apiVersion: muster/v1\nname: demo\nroles:\n  worker:\n    replcas: 2\n    image: pytorch:2.1\n    command: [python3, train.py]\n";

const type = text => async p => {
    await p.locator("textarea").fill(text);
    await p.locator(text === BROKEN ? ".sq.sev-error" : ".explain pre").first().waitFor();
};
// name, address, what to wait for, what to do
const PAGES = [
    ["jobs", "#/jobs", "table.jobs tbody tr"],
    ["jobs-none", "#/jobs?q=nothing-has-this-name", ".empty a"],
    ["job", `#/job/${FAILED}`, ".timeline .because"],
    ["job-4096", `#/job/${BIG}`, ".map canvas"],
    ["logs", `#/job/${FAILED}/logs?rank=5&end=1`, ".log .row.target"],
    ["plan", `#/job/${FAILED}/plan`, ".env td"],
    ["file", `#/job/${FAILED}/file`, ".source .note"],
    ["events", `#/job/${FAILED}/events`, ".events td"],
    ["hang", `#/job/${HANG}/hang`, ".hang svg"],
    ["queue", "#/queue", ".queue-table td"],
    ["submit", "#/submit", ".explain pre", type(BROKEN.replace("replcas", "replicas"))],
    ["submit-broken", "#/submit", ".sq.sev-error", type(BROKEN)],
    ["submit-command", "#/submit", ".explain pre", async p => {
        await p.locator("[data-mode=command]").click();
        await p.locator("input.command").fill("python train.py && echo done");
    }],
    ["confirm", `#/job/${BIG}`, "dialog[open]", p => p.locator("[data-act=cancel]").click()],
];

async function each(b, url, width, theme) {
    const p = await b.page(url, {width, height: width < 500 ? 844 : width > 2000 ? 1440 : 900, theme});
    await p.locator("table.jobs tbody tr").first().waitFor();
    for (const [name, hash, wait, act] of PAGES) {
        await p.evaluate(h => location.hash = h, hash);
        if (act) {
            await p.locator(name === "confirm" ? "[data-act=cancel]" : "textarea").waitFor();
            await act(p);
        }
        await p.locator(wait).first().waitFor();
        await t.sleep(150);
        await t.shot(p, `${name}-${width}-${theme}`);
        const wide = await p.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        t.is(wide, 0, `${name}, ${width} pixels, ${theme}: nothing is wider than the window`);
        await t.accessible(p, `${name}, ${width} pixels, ${theme}`);
        if (name === "confirm") {
            await p.keyboard.press("Escape");
            await p.locator("dialog").waitFor({state: "detached"});
        }
    }
    return p;
}

async function keyboard(p) {
    await p.evaluate(() => location.hash = "#/jobs");
    await p.locator("table.jobs tbody tr").first().waitFor();
    await p.evaluate(() => document.activeElement.blur());
    await p.keyboard.press("j");
    await p.keyboard.press("j");
    t.is(await p.evaluate(() => document.activeElement.textContent), "finetune-bert", "j goes down the list");
    await p.keyboard.press("Enter");
    await p.locator(".head h1").waitFor();
    t.is(await p.locator(".head h1").textContent(), "finetune-bert", "Enter opens the job");
    await p.keyboard.press("2");
    await p.locator(".log").waitFor();
    t.ok(true, "2 is its second section");
    await p.keyboard.press("g");
    await p.keyboard.press("q");
    await p.locator(".meters").waitFor();
    t.ok(true, "g q is the queue");
    await p.keyboard.press("?");
    t.ok(await p.locator("dialog[open]").count() === 1, "? shows the keys");
    await p.keyboard.press("Escape");
    await p.evaluate(h => location.hash = h, `#/job/${FAILED}`);
    await p.locator(".map canvas").focus();
    await p.keyboard.press("End");
    t.like(await p.locator(".map-words").textContent(), /rank 15 on worker-3/, "the map is read with keys");
    await t.until(async () => /rank 15/.test(await p.locator("#status").textContent()), "aloud");
    t.ok(true, "and aloud");
    await p.keyboard.press("Enter");
    await p.locator(".log .row").first().waitFor();
    t.like(p.url(), /logs\?rank=15/, "Enter opens the rank's log");
    await p.goBack();
    await p.locator("th button", {hasText: "Rank"}).first().focus();
    await p.keyboard.press("Enter");
    await p.keyboard.press("Enter");
    t.is(await p.locator(".rank-table tbody tr td").first().textContent(), "0", "a table is sorted with keys");
    t.is(await p.evaluate(() => document.activeElement.textContent), "Rank", "and the focus stays");
    await p.locator("#theme").click();
    await p.locator("#theme").click();
    t.is(await p.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.documentElement).colorScheme]), ["dark", "dark"], "the theme is switched");
    await p.reload();
    await p.locator(".head h1").waitFor();
    t.is(await p.evaluate(() => document.documentElement.dataset.theme), "dark", "and remembered");
}

t.main(async () => {
    t.needBrowser();
    const m = await t.mock("--jobs", 300, "--ranks", 4096);
    const b = await t.browser();
    let p;
    for (const width of [390, 1280, 2560])
        for (const theme of ["light", "dark"])
            p = await each(b, m.url, width, theme);
    await keyboard(p);
    for (const theme of ["light", "dark"]) {
        const q = await b.page(m.url.replace(/#.*/, ""), {theme, context: await b.fresh({colorScheme: theme})});
        await q.locator(".notice").waitFor();
        await t.shot(q, `no-session-1280-${theme}`);
        await t.accessible(q, `no session, ${theme}`);
    }
    await t.noHarm(b);
});

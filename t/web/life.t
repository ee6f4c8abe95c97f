#!/usr/bin/env node
// A job's life in the page: a broken file is mended and run, a rank fails, the verdict leads to that rank's log;
// a command is run; another job is followed, paused, resumed and cancelled, in two browsers at once.
"use strict";
const t = require("./lib.js");

const BROKEN = `apiVersion: muster/v1
name: broken
roles:
  worker:
    replcas: 2
    slots: 2
    command: |
      echo "rank $RANK begins"
      sleep 1
      if [ "$RANK" = 2 ]; then echo "out of luck" >&2; exit 7; fi
      sleep 60
`;
const TALK = `apiVersion: muster/v1
name: talk
roles:
  worker:
    slots: 2
    command: |
      i=0
      while :; do i=$((i + 1)); echo "rank $RANK says $i"; sleep 0.2; done
`;

async function type(p, text) {
    await p.locator("textarea").fill(text);
}

async function breakAndMend(p) {
    await p.click("text=Submit");
    await type(p, BROKEN);
    const squiggle = p.locator(".under .sq.sev-error u");
    await squiggle.waitFor();
    t.is(await squiggle.textContent(), "replcas", "the squiggle is below the unknown key");
    // The word of the textarea and the squiggle must be at one place, or it marks something else.
    const box = await squiggle.boundingBox(), area = await p.locator("textarea").boundingBox();
    t.ok(Math.abs(box.y - area.y - 8 - 4 * 19) < 6, "in the fifth line", [box, area]);
    t.like(await p.locator("#verdict-line").textContent(), /rejected.*muster-v1.*1 error/, "the verdict says so");
    t.ok(await p.locator("button:text-is('Run')").isDisabled(), "it cannot be run");
    const entry = p.locator(".diags button").first();
    t.like(await entry.textContent(), /^5:5.*E0101.*replcas.*replicas/s, "the list has line, column, code and hint");
    await entry.click();
    t.is(await p.evaluate(() => {
        const a = document.querySelector("textarea");
        return document.activeElement === a && a.value.slice(a.selectionStart, a.selectionStart + 7);
    }), "replcas", "and leads to the place");
    await type(p, BROKEN.replace("replcas", "replicas"));
    await p.locator("#verdict-line b.s-succeeded").waitFor();
    t.is(await squiggle.count(), 0, "mended: no squiggle");
    await p.locator(".explain pre").first().waitFor();
    t.like(await p.locator(".explain").textContent(), /worker: 2 replicas of 2 slots/, "explain is beside it");
    await p.click("text=Add --set");
    await p.locator("input[placeholder^='spec']").fill("roles.worker.slots=1");
    await t.until(async () => /worker: 2 replicas(?! of)/.test(await p.locator(".explain").textContent()), "--set changes what would run");
    t.ok(true, "--set changes what would run");
    await p.click("text=Remove");
    await t.until(async () => /2 replicas of 2 slots/.test(await p.locator(".explain").textContent()), "without it, as before");
}

async function watchItFail(p, d) {
    await p.click("button:text-is('Run')");
    await p.locator(".head h1").waitFor();
    t.is(await p.locator(".head h1").textContent(), "broken", "running it shows its page");
    await t.until(async () => await p.locator(".head .state").textContent() === "failed", "the rank fails while the page is open");
    const verdict = p.locator(".verdict");
    await t.until(async () => /rank 2 on worker-1/.test(await verdict.textContent()), "the verdict is there");
    t.like(await p.locator(".verdict .sentence").textContent(), /rank 2 on worker-1 exited with status 7/, "the verdict names rank, replica and exit status");
    t.like(await verdict.locator("pre").textContent(), /out of luck/, "with the last lines");
    await p.locator(".timeline svg").waitFor();
    t.like(await p.locator(".timeline svg").getAttribute("aria-label"), /First failure: .*rank 2/, "the time line says who failed first");
    t.ok(await p.locator(".timeline .because").count() > 0, "and who was stopped because of it");
    t.is(await p.locator("tr.first").count(), 1, "one row is marked as the first failure");
    t.like(await p.locator("tr.first").textContent(), /^2.*worker-1.*failed.*7.*failed first/, "the table has its exit status");
    await p.click("text=Open this log at its last line");
    await p.locator(".log .row.target").waitFor();
    t.like(await p.locator(".log .row.target").textContent(), /out of luck/, "its log is open at the last line");
    t.is(await p.locator(".log .row").last().evaluate(r => {
        const a = r.getBoundingClientRect(), b = r.parentElement.getBoundingClientRect();
        return a.bottom <= b.bottom + 1 && a.top >= b.top - 1;
    }), true, "which is in view");
    t.is((await p.locator(".log .row").allTextContents()).some(x => /rank [013] begins/.test(x)), false, "and no other rank's lines");
    const link = await p.locator(".log .row a.at").first().getAttribute("href");
    t.like(link, /rank=2.*at=\d+\.\d+\.worker-1\.rank-2\.log/, "each line has a link");
    await p.evaluate(h => location.hash = h, link);
    await t.until(async () => /begins/.test(await p.locator(".log .row.target").textContent()), "the link leads to its line");
    t.ok(true, "the link leads to its line");
    await p.selectOption("select[aria-label='Which log']", "all");
    await t.until(async () => (await p.locator(".log .row").allTextContents()).filter(x => /begins/.test(x)).length === 4, "merged, all ranks are there");
    await p.locator(".page-job input[type=search]").fill("luck");
    await t.until(async () => await p.locator(".log .row").count() === 1, "search leaves the line");
    t.is(await p.locator(".log mark").textContent(), "luck", "search leaves the line and marks the text");
    for (const [tab, text, what] of [["Plan", "MASTER_PORT", "the plan has the environment"], ["File", "replicas: 2", "the file is as it was submitted"], ["Events", "exited", "the events are there"]]) {
        await p.locator(".tabs a", {hasText: tab}).click();
        await t.until(async () => (await p.locator(".part-box").textContent()).includes(text), what);
        t.ok(true, what);
    }
    t.like(d.muster("list").out, /broken.*failed|failed.*broken/, "muster list says the same");
}

async function runCommand(p) {
    await p.evaluate(() => location.hash = "#/submit");
    await p.click("[data-mode=command]");
    const line = p.locator("input[aria-label=Command]"), run = p.locator("button:text-is('Run')");
    t.ok(await run.isDisabled() && !await p.locator("textarea").isVisible(), "a command instead of a file");
    await line.fill("python train.py");
    t.is(await p.locator(".explain pre").textContent(), "python train.py", "plain words go to no shell");
    await line.fill('echo "rank $RANK of $WORLD_SIZE" && touch "$MUSTER_RUN_DIR/model-$RANK.bin"');
    await p.locator("input[aria-label=Processes]").fill("2");
    t.like(await p.locator(".explain").textContent(), /2 processes of\s*sh -c echo/, "what would run");
    await p.locator("input[aria-label=Processes]").fill("0");
    await line.press("Enter");
    await p.locator("[role=alert]:not([hidden])").waitFor();
    t.like(await p.locator("[role=alert]").textContent(), /-n must be/, "what is refused says why");
    await p.locator("input[aria-label=Processes]").fill("2");
    await line.press("Enter");
    await p.locator(".head h1").waitFor();
    await t.until(async () => await p.locator(".head .state").textContent() === "succeeded", "the command runs");
    t.ok(true, "the command runs");
    const files = p.locator("[aria-label='Output files'] code");
    await files.first().waitFor();
    t.is(await files.allTextContents(), ["model-0.bin", "model-1.bin"], "the page has the files that it left");
}

async function followAndSteer(p, q, id) {
    await p.goto((await p.evaluate(() => location.origin)) + `/#/job/${id}/logs`);
    await t.until(async () => /says \d/.test(await p.locator(".log").textContent()), "lines arrive");
    const last = async () => Math.max(...(await p.locator(".log .row").allTextContents()).map(x => Number((/says (\d+)/.exec(x) || [0, 0])[1])));
    const before = await last();
    await t.until(async () => await last() > before + 5, "more lines come without a click");
    t.ok(true, "the log is followed");
    const texts = (await p.locator(".log .row .text").allTextContents()).filter(x => /rank 0 says/.test(x)).map(x => Number(/says (\d+)/.exec(x)[1]));
    t.ok(texts.every((v, i) => !i || v === texts[i - 1] + 1), "no line twice and none missing", texts);
    t.is(await p.locator(".log").evaluate(l => l.scrollHeight - l.scrollTop - l.clientHeight < 30), true, "and stays at its end");

    await q.locator(`tr[data-id="${id}"][data-state=running]`).waitFor();
    t.ok(true, "a second browser shows it as running");
    const press = async (act, ...also) => {
        await p.locator(`[data-act=${act}]`).click();
        await p.locator("dialog[open]").waitFor();
        for (const f of also)
            await f();
        await p.locator("dialog button[type=submit]").click();
        await p.locator("dialog").waitFor({state: "detached"});
    };
    await p.locator("[data-act=pause]").click();
    await p.keyboard.press("Escape");
    await p.locator("dialog").waitFor({state: "detached"});
    t.is(await p.locator(".head .state").textContent(), "running", "a question that is not answered does nothing");
    await press("pause");
    await t.until(async () => await p.locator(".head .state").textContent() === "paused", "paused");
    await q.locator(`tr[data-id="${id}"][data-state=paused]`).waitFor();
    t.ok(true, "paused, in both browsers");
    await t.sleep(1500);
    const stopped = await last();
    await t.sleep(1500);
    t.is(await last(), stopped, "a paused job writes nothing");
    await press("resume");
    await q.locator(`tr[data-id="${id}"][data-state=running]`).waitFor();
    t.ok(true, "resumed, in both browsers");
    await t.until(async () => await last() > stopped, "and it writes again");
    await press("cancel", () => p.locator("dialog input[type=checkbox]").check());
    await t.until(async () => await p.locator(".head .state").textContent() === "cancelled", "cancelled");
    await q.locator(`tr[data-id="${id}"][data-state=cancelled]`).waitFor();
    t.ok(true, "cancelled, in both browsers");
}

t.main(async () => {
    t.needBrowser();
    const d = await t.daemon();
    const b = await t.browser(), c = await t.browser();
    const p = await b.page(await d.link());
    await p.locator("text=No jobs yet.").waitFor();
    t.ok(true, "an empty list says what to do");
    t.is(await p.evaluate(() => location.hash), "#/jobs", "the key has left the address");
    await breakAndMend(p);
    await watchItFail(p, d);
    await runCommand(p);
    const id = d.submit(TALK);
    const q = await c.page(await d.link());
    await followAndSteer(p, q, id);
    await q.locator("input[type=search]").fill("brok");
    await t.until(async () => await q.locator("tbody tr").count() === 1, "the list is searched");
    t.like(q.url(), /q=brok/, "the search is in the address");
    await q.reload();
    await t.until(async () => await q.locator("tbody tr").count() === 1, "a reload keeps it");
    t.is(await q.locator("input[type=search]").inputValue(), "brok", "a reload keeps search and session");
    const used = await d.link();
    const x = await b.page(used);
    await x.locator("table.jobs").waitFor();
    const y = await c.page(used, {context: await c.fresh()});
    await y.locator(".notice").waitFor();
    t.like(await y.locator(".notice").textContent(), /used before.*muster open/s, "a link opens the page once");
    await t.noHarm(b);
    await t.noHarm(c);
});

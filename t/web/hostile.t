#!/usr/bin/env node
// Logs and names that try to do harm: HTML, escapes, long lines, bytes that are no UTF-8, lines faster than anybody
// reads; from a real job, then from the mock, which can say what a real one cannot.
"use strict";
const t = require("./lib.js");

const EVIL = `apiVersion: muster/v1
name: evil
roles:
  worker:
    command: |
      echo '<script>window.hacked=1</script><img src=x onerror=window.hacked=1>'
      printf '\\033[31mred\\033[0m \\033]0;title\\007 \\033[2J\\033[10;1Hafter\\n'
      printf 'bad \\377\\376 utf-8\\n'
      printf 'nul \\000 and bell \\007\\n'
      printf '1%%\\r50%%\\r100%%\\n'
      head -c 1000000 /dev/zero | tr '\\000' x; echo
      printf '\\342\\200\\256gnp.exe\\n'
      echo the end
      exit 3
`;
const FLOOD = `apiVersion: muster/v1
name: flood
roles:
  worker:
    command: |
      i=0
      while :; do yes "line of a flood $i" | head -n 1000; i=$((i + 1)); sleep 0.1; done
`;

async function real(d, b) {
    const id = d.submit(EVIL);
    const p = await b.page(await d.link(id));
    await t.until(async () => await p.locator(".head .state").textContent() === "failed", "the job ends");
    t.like(await p.locator(".verdict pre").textContent(), /the end/, "its last lines are in the verdict");
    await p.locator(".tabs a", {hasText: "Logs"}).click();
    await t.until(async () => /the end/.test(await p.locator(".log").textContent()), "its log is shown");
    const text = await p.locator(".log .text").allTextContents();
    t.is(await p.evaluate(() => window.hacked), undefined, "no script of a log runs");
    t.is(await p.locator(".log img, .log script").count(), 0, "and no element is made of it");
    t.ok(text.some(x => x.startsWith("<script>window.hacked=1</script><img")), "HTML is shown as text", text);
    t.is(await p.locator(".log .fg1").first().textContent(), "red", "a colour is a colour");
    t.ok(text.some(x => /^red +after$/.test(x)), "other escapes are dropped", text.map(x => x.slice(0, 60)));
    t.ok(text.some(x => /^bad \ufffd+ utf-8$/.test(x)), "wrong bytes are replaced");
    t.ok(text.some(x => x === "nul \u2400 and bell \u2407"), "control characters are made visible");
    t.ok(text.some(x => x === "100%"), "of a progress bar the last state is shown");
    t.ok(text.some(x => x === "\ufffdgnp.exe"), "no text runs from right to left");
    t.ok(text.every(x => x.length < 1100), "a line of 1 MB is cut", text.map(x => x.length));
    await p.locator(".log button.rest").first().click();
    await t.until(async () => (await p.locator(".log .text").allTextContents()).some(x => x.length > 60000), "and is longer when asked for");
    t.ok(true, "and is longer when asked for");
    t.is(await p.title(), "evil: failed – Muster", "no log changes the title");
    return p;
}

async function flood(d, b) {
    const id = d.submit(FLOOD);
    const p = await b.page(`${await d.link(id)}`);
    await p.locator(".tabs a", {hasText: "Logs"}).click();
    const number = async () => Math.max(0, ...(await p.locator(".log .text").allTextContents()).slice(-50).map(x => Number((/flood (\d+)/.exec(x) || [0, 0])[1])));
    await t.until(async () => await number() > 5, "lines arrive");
    const before = await number();
    await t.until(async () => await number() > before + 20, "and go on");
    t.ok(await p.locator(".log .row").count() <= 5000, "10,000 lines a second: at most 5,000 are in the document", await p.locator(".log .row").count());
    // Whoever clicks is answered, and the job can be ended from here.
    await p.locator("button", {hasText: "Follow"}).click();
    await p.locator("[data-act=cancel]").click();
    await p.locator("dialog input[type=checkbox]").check();
    await p.locator("dialog button[type=submit]").click();
    await t.until(async () => await p.locator(".head .state").textContent() === "cancelled", "it is cancelled");
    t.ok(true, "the page answers meanwhile: the job is cancelled");
}

async function invented(b) {
    const m = await t.mock("--jobs", 100, "--ranks", 64);
    const p = await b.page(m.url);
    await p.locator("table.jobs tbody tr").first().waitFor();
    t.ok((await p.locator(".name a").allTextContents()).includes("<img src=x onerror=alert(1)>"), "a name of HTML is text");
    await p.locator(".name a", {hasText: "<img src=x"}).click();
    await p.locator(".tabs a", {hasText: "Logs"}).click();
    await p.locator(".log .row").first().waitFor();
    await t.sleep(4000);
    t.ok(await p.locator(".log .row").count() <= 5001, "2,000 lines a second, some of 64 KiB");
    t.is(await p.evaluate(() => window.hacked), undefined, "nothing of it runs");
    await p.locator("[aria-label='Which log']").selectOption("rank 2");
    await t.until(async () => await p.locator(".log .who").count() === 0, "the page answers");
    t.ok(true, "the page answers");
}

t.main(async () => {
    t.needBrowser();
    const b = await t.browser();
    await invented(b);
    const d = await t.daemon();
    await real(d, b);
    await flood(d, b);
    await t.noHarm(b);
});

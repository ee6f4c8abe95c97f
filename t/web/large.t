#!/usr/bin/env node
// 10,000 jobs and 4,096 ranks stay usable; the first view is small. What is measured is printed; asserted are sizes and
// numbers of elements, not times.
"use strict";
const t = require("./lib.js");

const BIG = "20261118-100001-063z";

t.main(async () => {
    t.needBrowser();
    const m = await t.mock("--jobs", 10000, "--ranks", 4096);
    const b = await t.browser();
    const p = await b.page(null);
    const sizes = [];
    p.on("response", async r => sizes.push([new URL(r.url()).pathname, (await r.body().catch(() => "")).length]));
    await p.goto(m.url);
    await p.locator("table.jobs tbody tr").first().waitFor();
    await t.sleep(500);
    const files = sizes.filter(x => !x[0].startsWith("/api")), data = sizes.filter(x => x[0].startsWith("/api/v1/jobs"));
    const sum = list => list.reduce((n, x) => n + x[1], 0);
    t.diag(`first view: ${sum(files)} bytes of files (${files.length}), ${sum(data)} bytes of jobs`);
    t.ok(sum(files) + sum(data) <= 100e3, "the first view has at most 100 kB, with 60 jobs of 10,000", sizes);
    t.like(await p.locator(".chip").first().textContent(), /All 10,000/, "all are counted");
    t.is(await p.locator("table.jobs tbody tr").count(), 60, "60 are in the document");
    await p.click("text=Older");
    await t.until(async () => /61–120 of 10,000/.test(await p.locator(".pages").textContent()), "the second page");
    t.ok(true, "the second page");
    const first = await p.locator("tbody tr").first().getAttribute("data-id");
    await p.goBack();
    await t.until(async () => /1–60 of 10,000/.test(await p.locator(".pages").textContent()), "back");
    await p.goForward();
    await t.until(async () => await p.locator("tbody tr").first().getAttribute("data-id") === first, "forward");
    t.ok(true, "the browser's own back and forward turn pages as well");
    await p.locator("input[type=search]").fill("export-9999");
    await t.until(async () => await p.locator("tbody tr").count() === 1, "the last job is found");
    t.ok(true, "the last job is found");
    await p.locator("input[type=search]").fill("");
    await p.locator("[data-state=failed].chip").click();
    await t.until(async () => (await p.locator("tbody .state").allTextContents()).every(x => x === "failed"), "only failed ones");
    t.like(p.url(), /state=failed/, "a filter is in the address");

    const began = Date.now();
    await p.evaluate(h => location.hash = h, `#/job/${BIG}`);
    await p.locator(".map canvas").waitFor();
    t.diag(`4,096 ranks drawn after ${Date.now() - began} ms`);
    t.like(await p.locator(".map canvas").getAttribute("aria-label"), /4,096 ranks: \d+ running/, "the map has 4,096 ranks");
    t.ok(await p.evaluate(() => document.querySelectorAll("*").length) < 6000, "the document stays small", await p.evaluate(() => document.querySelectorAll("*").length));
    await p.locator(".chip", {hasText: "4,096 ranks"}).click();
    await t.until(async () => await p.locator(".rank-table tbody tr").count() === 200, "200 rows at a time");
    t.ok(true, "the table has 200 rows at a time");
    await p.locator("th button", {hasText: "CPU"}).click();
    const cpu = (await p.locator(".rank-table tbody tr td:nth-child(5)").allTextContents()).map(parseFloat);
    t.ok(cpu.every((v, i) => !i || v <= cpu[i - 1]), "sorted by CPU");
    await p.locator(".map canvas").focus();
    await p.keyboard.press("End");
    t.like(await p.locator(".map-words").textContent(), /rank 4095 on worker-511/, "the last rank is on the map");
    const box = await p.locator(".map canvas").boundingBox();
    await p.mouse.click(box.x + box.width - 4, box.y + box.height - 8);
    await p.locator(".rank-table tr[aria-selected=true]").waitFor();
    t.like(await p.locator(".rank-table tr[aria-selected=true]").textContent(), /^4095/, "a click on the map leads to the row");
    // Long tasks block input: one of half a second is felt.
    const long = await p.evaluate(() => new Promise(done => {
        const list = [];
        new PerformanceObserver(l => list.push(...l.getEntries().map(e => Math.round(e.duration)))).observe({type: "longtask", buffered: true});
        setTimeout(() => done(list.sort((x, y) => y - x).slice(0, 5)), 5000);
    }));
    t.diag(`longest tasks: ${long.join(", ") || "none"} ms`);
    await t.noHarm(b);
});

#!/usr/bin/env node
// The daemon is killed and comes back while pages are open: they recover without a reload, and a stranger who
// listens on its port meanwhile gets no token.
"use strict";
const http = require("http");
const t = require("./lib.js");

const TALK = `apiVersion: muster/v1
name: talk
roles:
  worker:
    command: |
      i=0
      while :; do i=$((i + 1)); echo "says $i"; sleep 0.2; done
`;

// Takes the daemon's port and writes down what it is told.
function stranger(port) {
    const heard = [];
    const server = http.createServer((req, res) => {
        heard.push(`${req.method} ${req.url} ${JSON.stringify(req.headers)}`);
        req.on("data", d => heard.push(String(d)));
        req.on("end", () => res.writeHead(200, {"Content-Type": "application/json"}).end('{"proof":"00","jobs":[],"counts":{}}'));
    });
    return new Promise((done, fail) => {
        server.on("error", fail);
        server.listen(port, "127.0.0.1", () => done({heard, close: () => new Promise(end => {
            server.close(end);
            server.closeAllConnections();
        })}));
    });
}

const last = async p => Math.max(0, ...(await p.locator(".log .row").allTextContents()).map(x => Number((/says (\d+)/.exec(x) || [0, 0])[1])));

t.main(async () => {
    t.needBrowser();
    const d = await t.daemon();
    const b = await t.browser();
    const id = d.submit(TALK);
    const list = await b.page(await d.link());
    const page = await b.page(await d.link(id));
    await list.locator(`tr[data-id="${id}"]`).waitFor();
    await page.locator(".tabs a", {hasText: "Logs"}).click();
    await t.until(async () => await last(page) > 3, "the log is followed");
    // A mark that a reload would remove.
    await page.evaluate(() => window.notReloaded = true);
    await list.evaluate(() => window.notReloaded = true);

    await d.stop("SIGKILL");
    await page.locator(".connection[data-word=retrying]").waitFor();
    t.like(await page.locator("#connection").textContent(), /connection lost, next try in \d+ s/, "the page says that the connection is lost");
    await t.sleep(1500);
    await d.start();
    await page.locator(".connection[data-word=live]").waitFor();
    t.ok(true, "killed and started again: the page of the job is live");
    const seen = await last(page);
    await t.until(async () => await last(page) > seen + 3, "the log goes on");
    t.ok(true, "and follows the log, whose job has gone on");
    await list.locator(".connection[data-word=live]").waitFor();
    const other = d.submit(TALK.replace("talk", "after"));
    await list.locator(`tr[data-id="${other}"]`).waitFor();
    t.ok(true, "the list learns of a new job");
    t.is([await page.evaluate(() => window.notReloaded), await list.evaluate(() => window.notReloaded)], [true, true], "neither was loaded again");
    await page.locator("[data-act=pause]").click();
    await page.locator("dialog button[type=submit]").click();
    await t.until(async () => await page.locator(".head .state").textContent() === "paused", "pausing works");
    t.ok(true, "pausing works in the old session");

    await d.stop("SIGTERM");
    await d.start();
    await page.locator(".connection[data-word=live]").waitFor();
    t.ok(true, "an orderly restart is the same");
    await page.reload();
    await page.locator(".head h1").waitFor();
    t.ok(true, "a reload keeps the session");

    const token = await page.evaluate(() => sessionStorage.getItem("token"));
    const port = Number(new URL(page.url()).port);
    await d.stop("SIGKILL");
    const s = await stranger(port);
    await page.locator(".notice").waitFor();
    t.like(await page.locator(".notice").textContent(), /muster open/, "a stranger on the port: the page says what to run");
    t.ok(s.heard.some(x => /session\/proof/.test(x)), "it was asked for a proof", s.heard);
    t.is(s.heard.filter(x => x.includes(token) || /authorization/i.test(x)), [], "and was told no token");
    await s.close();
    await d.start();
    const again = await b.page(await d.link(id));
    await again.locator(".head h1").waitFor();
    t.ok(true, "a new link opens the page again");
    await t.noHarm(b);
});

#!/usr/bin/env node
// What doc/page.md shows, with a real daemon: the list with runs in the foreground, retries and restarts on the time line,
// a dropped file, a hang report, retry and delete. MUSTER_SCREENSHOTS=1 writes its pictures anew, into doc/screenshots.
"use strict";
const fs = require("fs");
const path = require("path");
const {spawn} = require("child_process");
const t = require("./lib.js");

const FLAKY = `apiVersion: muster/v1
name: finetune
retries: 1
roles:
  ps:
    command: sleep 60
  worker:
    replicas: 3
    restart: {policy: on-failure, limit: 1}
    command: |
      echo "loading shard $MUSTER_INDEX of 3"
      sleep 2
      if [ "$MUSTER_INDEX" = 1 ]; then
        printf 'Traceback (most recent call last):\\n  File "train.py", line 88, in load_batch\\n' >&2
        printf '\\033[31mFileNotFoundError: shard-1.tar\\033[0m\\n' >&2
        exit 4
      fi
      sleep 60
`;
const HANG = `apiVersion: muster/v1
name: stuck
roles:
  worker:
    slots: 2
    command: sleep 3600
`;
const TRAIN = `apiVersion: muster/v1
name: train
roles:
  worker:
    replicas: 2
    slots: 4
    command: 'i=0; while :; do i=$((i + 1)); echo "step $i on rank $RANK"; sleep 1; done'
`;
const DROPPED = `{"apiVersion": "muster/v1",
 "name": "dropped",
 "roles": {"worker": {"replicas": 2, "comand": "hostname"}}}
`;

async function picture(p, name) {
    await p.mouse.move(0, 0);
    await t.sleep(300);
    await t.shot(p, `tour-${name}`);
    if (process.env.MUSTER_SCREENSHOTS) {
        const dir = path.join(t.TOP, "doc/screenshots");
        fs.mkdirSync(dir, {recursive: true});
        fs.copyFileSync(path.join(t.OUT, `tour-${name}.png`), path.join(dir, `${name}.png`));
    }
}

const state = (p, id, word) => p.locator(`tr[data-id="${id}"][data-state=${word}]`).waitFor();

async function list(p, d, ids) {
    await state(p, ids.finetune, "failed");
    await state(p, ids.stuck, "failed");
    t.like(await p.locator(`tr[data-id="${ids.stuck}"]`).textContent(), /run/, "a run in the foreground is in the list");
    await state(p, ids.train, "running");
    await state(p, ids.next, "waiting");
    t.like(await p.locator(`tr[data-id="${ids.next}"] .why`).textContent(), /needs \d+ CPUs?, \d+ free.*place 1 in the queue/, "what a job waits for, with numbers, and its place");
    t.is(await p.locator(`tr[data-id="${ids.finetune}"] .c-restarts`).textContent() !== "", true, "its restarts are counted");
    await picture(p, "jobs");
}

async function verdict(p, ids) {
    await p.evaluate(h => location.hash = h, `#/job/${ids.finetune}`);
    await p.locator(".timeline .because").first().waitFor();
    const facts = await p.locator(".facts").textContent();
    t.like(facts, /attempts 2.*user retries 1.*platform retries 0/, "retries are counted apart");
    t.is(await p.locator(".timeline circle").count(), 2, "the first failure of each attempt");
    await t.until(async () => await p.locator(".timeline path.s-paused").count() === 2, "the restarts");
    t.ok(true, "and the restart in each");
    t.like(await p.locator(".verdict pre").textContent(), /load_batch\n.*FileNotFoundError: shard-1.tar/s, "the last lines are in the verdict");
    t.is(await p.locator(".verdict pre .fg1").textContent(), "FileNotFoundError: shard-1.tar", "with their colours");
    await picture(p, "verdict");
    await p.locator(".tabs a", {hasText: "Events"}).click();
    await p.locator(".events td").first().waitFor();
    t.like(await p.locator(".events").textContent(), /restart/, "the events have them");
}

async function hang(p, ids) {
    await p.evaluate(h => location.hash = h, `#/job/${ids.stuck}`);
    await p.locator(".tabs a", {hasText: "Hang report"}).click();
    await p.locator(".hang pre").waitFor();
    t.like(await p.locator(".hang pre").textContent(), /rank 0.*\n(.*\n)*.*rank 1|ranks 0/, "a hang report names the ranks");
    t.ok(await p.locator(".hang svg rect").count() > 0, "and is drawn");
}

async function drop(p) {
    await p.evaluate(() => location.hash = "#/submit");
    await p.locator(".editor").waitFor();
    await p.evaluate(text => {
        const data = new DataTransfer();
        data.items.add(new File([text], "dropped.json", {type: "application/json"}));
        document.querySelector(".editor").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
    }, DROPPED);
    await p.locator(".sq.sev-error").first().waitFor();
    t.like((await p.locator(".sq.sev-error u").allTextContents()).join(" "), /comand/, "a dropped file is checked");
    await p.locator("textarea").fill(TRAIN.replace("slots: 4", "slotz: 4").replace("name: train", "name: train-2"));
    await t.until(async () => (await p.locator(".sq.sev-error u").allTextContents()).join() === "slotz", "another one as well");
    await picture(p, "submit-error");
    await p.locator("textarea").fill(TRAIN.replace("name: train", "name: train-2"));
    await p.locator(".explain pre").waitFor();
    await p.locator("label", {hasText: "--fit"}).locator("input").check();
    await t.until(async () => /Changed by options/.test(await p.locator(".explain").textContent()), "--fit says what it changes");
    t.ok(true, "--fit says what it changes");
    await picture(p, "submit");
}

async function retryAndDelete(p, d, ids) {
    await p.evaluate(h => location.hash = h, `#/job/${ids.quick}`);
    await p.locator("[data-act=retry]").click();
    await p.locator("dialog button[type=submit]").click();
    await t.until(async () => !p.url().includes(ids.quick) && /job\/\d/.test(p.url()), "retry opens the new job");
    const again = /job\/([^/?]+)/.exec(p.url())[1];
    t.ok(d.muster("list").out.includes(again), "retry makes a new job of the same submission");
    await p.locator("[data-act=cancel]").click();
    await p.locator("dialog button[type=submit]").click();
    await p.locator("[data-act=delete]").click();
    await p.locator("dialog button[type=submit]").click();
    await p.locator("table.jobs").waitFor();
    await t.until(() => !d.muster("list").out.includes(again), "deleted");
    t.ok(true, "delete removes it");
}

t.main(async () => {
    t.needBrowser();
    const d = await t.daemon();
    const b = await t.browser();
    const ids = {};
    const hanging = path.join(d.home, "stuck.yaml");
    fs.writeFileSync(hanging, HANG);
    const run = spawn(t.MUSTER, ["run", "--hang-timeout", "2s", hanging], {env: d.env, cwd: d.home, stdio: "ignore"});
    ids.stuck = await t.until(() => (/"id": *"([^"]+)"/.exec(d.muster("list", "-o", "json").out) || [])[1], "a run in the foreground");
    await new Promise(done => run.exitCode === null ? run.once("exit", done) : done());
    ids.finetune = d.submit(FLAKY);
    const p = await b.page(await d.link(), {width: 1200, height: 720});
    await state(p, ids.finetune, "failed");
    ids.quick = d.muster("submit", "-n", "1", "--name", "smoke-test", "--", "sh", "-c", "echo all good").out.trim();
    await state(p, ids.quick, "succeeded");
    ids.train = d.submit(TRAIN);
    await state(p, ids.train, "running");
    ids.next = d.submit(TRAIN.replace("name: train", "name: evaluate"));
    await list(p, d, ids);
    await verdict(p, ids);
    await hang(p, ids);
    await drop(p);
    d.muster("cancel", ids.train, ids.next);
    await retryAndDelete(p, d, ids);
    await t.noHarm(b);
});

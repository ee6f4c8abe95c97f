// lib.js - what the scripts of t/web share: TAP, a browser, a real daemon, the mock of one.
//
//     const t = require("./lib.js");
//     t.main(async () => {
//         const d = await t.daemon();                 // muster serve with a MUSTER_HOME of its own
//         const b = await t.browser();                // Chromium, new profile
//         const p = await b.page(await d.link());     // a page; errors in it and requests elsewhere are failures
//         t.is(await p.title(), "Jobs – Muster", "the list");
//     });
//
// ok(bool, name, why) is(got, want, name) like(text, regexp, name) · until(f, what) tries for 30 s, because a busy
// machine is slow; no test passes because something was quick · skipAll(reason)
// about: src/web src/api src/http src/daemon src/client/serve tools/web tools/browser
"use strict";
const fs = require("fs");
const net = require("net");
const os = require("os");
const path = require("path");
const {execFileSync, spawn, spawnSync} = require("child_process");

const TOP = path.join(__dirname, "../..");
const MUSTER = process.env.MUSTER || path.join(TOP, "build/muster");
const OUT = path.join(TOP, "build/web");
const ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"];
const PATIENCE = 30000 * (process.env.MUSTER_SAN ? 3 : 1);
const ends = [];
let n = 0, failed = 0;

// --- tests ---------------------------------------------------------------------------------------

function diag(text) {
    process.stdout.write(String(text).replace(/^/gm, "# ").replace(/# $/, "") + "\n");
}

function ok(good, name, why) {
    n++;
    process.stdout.write(`${good ? "ok" : "not ok"} ${n} - ${name.replace(/#/g, "\\#")}\n`);
    if (!good) {
        failed++;
        if (why !== undefined)
            diag(typeof why === "string" ? why : JSON.stringify(why, null, 1));
    }
    return good;
}

function is(got, want, name) {
    return ok(JSON.stringify(got) === JSON.stringify(want), name, ` got: ${JSON.stringify(got)}\nwant: ${JSON.stringify(want)}`);
}

function like(text, regexp, name) {
    return ok(regexp.test(text), name, `${regexp} does not match: ${String(text).slice(0, 1000)}`);
}

function skipAll(reason) {
    process.stdout.write(`1..0 # SKIP ${reason}\n`);
    process.exit(0);
}

const sleep = ms => new Promise(done => setTimeout(done, ms));

async function until(f, what) {
    const end = Date.now() + PATIENCE;
    let last;
    do {
        try {
            last = await f();
            if (last)
                return last;
        } catch (e) {
            last = e.message;
        }
        await sleep(100);
    } while (Date.now() < end);
    throw new Error(`not in time: ${what}; last: ${String(last).slice(0, 500)}`);
}

async function main(f) {
    let code = 0;
    try {
        await f();
        process.stdout.write(`1..${n}\n`);
    } catch (e) {
        ok(false, "the script comes to its end", e.stack || String(e));
        code = 1;
    }
    for (const end of ends.reverse())
        await Promise.resolve().then(end).catch(e => diag(e.message));
    process.exit(failed ? 1 : code);
}

// --- modules of the page -------------------------------------------------------------------------

function temp(name) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), name));
    ends.push(() => fs.rmSync(dir, {recursive: true, force: true}));
    return dir;
}

// The page's files are modules for a browser; Node wants that said.
function modules() {
    const dir = temp("mweb.");
    for (const f of fs.readdirSync(path.join(TOP, "src/web")))
        if (f.endsWith(".js"))
            fs.copyFileSync(path.join(TOP, "src/web", f), path.join(dir, f));
    fs.writeFileSync(path.join(dir, "package.json"), '{"type":"module"}');
    return name => import(path.join(dir, name));
}

// --- browser -------------------------------------------------------------------------------------

function npm(name) {
    const dir = process.env.MUSTER_WEB || execFileSync(path.join(TOP, "tools/browser"), ["--where"], {encoding: "utf8"}).trim();
    return path.join(dir, "node_modules", name);
}

function needBrowser() {
    const r = spawnSync(path.join(TOP, "tools/browser"), ["--cached"], {encoding: "utf8"});
    if (r.status !== 0)
        skipAll(r.stdout.replace(/^SKIP: /, "").trim() || "tools/browser --cached failed");
}

async function browser() {
    needBrowser();
    const {chromium} = require(npm("playwright-core"));
    const netlog = path.join(temp("mnet."), "net.json");
    const b = await chromium.launch({executablePath: execFileSync("sh", ["-c", "command -v chromium"], {encoding: "utf8"}).trim(), args: [...ARGS, `--log-net-log=${netlog}`],
        timeout: 4 * PATIENCE});
    const errors = [], requests = new Set();
    let open = true;
    const close = async () => {
        if (!open)
            return;
        open = false;
        await b.close();
    };
    ends.push(close);

    async function page(url, options = {}) {
        const c = options.context || await b.newContext({viewport: {width: options.width || 1280, height: options.height || 900}, colorScheme: options.theme || "light",
            acceptDownloads: true});
        const p = await c.newPage();
        p.setDefaultTimeout(PATIENCE);
        p.on("pageerror", e => errors.push(e.stack || e.message));
        p.on("console", m => {
            // A connection that is refused while the daemon is down is in the console of every page.
            if (m.type() === "error" && !/Failed to load resource|net::ERR/.test(m.text()))
                errors.push(m.text());
        });
        p.on("request", r => requests.add(new URL(r.url()).origin));
        if (url)
            await p.goto(url);
        return p;
    }

    return {
        page, close, errors,
        fresh: o => b.newContext(o),
        // Everything the browser asked for, also what no page did: its own log has it.
        async elsewhere() {
            await close();
            const text = fs.readFileSync(netlog, "utf8");
            const found = new Set([...requests].filter(o => !/^(http:\/\/127\.0\.0\.1:\d+|null|data:|blob:.*)$/.test(o)));
            let here = 0;
            // What the browser asks for by itself (updates, autofill) has no origin that asks; it is told that no name exists.
            for (const line of text.split("\n")) {
                const m = /"initiator":"([^"]*)".*"url":"([a-z]+:\/\/[^"\/]+)/.exec(line);
                if (!m)
                    continue;
                if (/^(https?|wss?):\/\/127\.0\.0\.1(:\d+)?$/.test(m[2]))
                    here++;
                else if (m[1] !== "not an origin")
                    found.add(`${m[1]} asked for ${m[2]}`);
            }
            return {found: [...found], here};
        },
    };
}

async function noHarm(b) {
    is(b.errors, [], "no error in any page, and the policy was violated by none");
    const {found, here} = await b.elsewhere();
    ok(here > 3, "the browser's log has its requests", here);
    is(found, [], "no request left the machine");
}

// axe-core's findings that are serious or critical, in words.
async function accessible(p, name) {
    await p.evaluate(fs.readFileSync(npm("axe-core/axe.min.js"), "utf8"));
    const found = await p.evaluate(async () => {
        const r = await window.axe.run(document, {resultTypes: ["violations"]});
        return r.violations.filter(v => v.impact === "serious" || v.impact === "critical").map(v => `${v.impact} ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(x =>
            `${x.target} ${(x.any[0] || x.all[0] || x.none[0] || {}).message || ""}`).join(" | ")}`);
    });
    return is(found, [], `${name}: axe-core finds nothing serious`);
}

async function shot(p, name) {
    fs.mkdirSync(OUT, {recursive: true});
    await p.screenshot({path: path.join(OUT, `${name}.png`)});
}

// --- daemons -------------------------------------------------------------------------------------

function mock(...args) {
    const m = spawn(process.execPath, [path.join(__dirname, "mock.js"), "--reusable", ...args.map(String)], {stdio: ["pipe", "pipe", "inherit"]});
    ends.push(() => m.kill());
    return new Promise((done, fail) => {
        m.stdout.once("data", d => done({url: String(d).trim(), kill: () => m.kill()}));
        m.once("exit", () => fail(new Error("mock.js ended")));
    });
}

function answers(socket) {
    return new Promise(done => {
        const s = net.connect(socket, () => {
            s.destroy();
            done(true);
        });
        s.on("error", () => done(false));
    });
}

async function daemon() {
    const home = temp("mw.");
    const env = {...process.env, MUSTER_HOME: home, BROWSER: "true", LC_ALL: "C.UTF-8"};
    delete env.DISPLAY;
    const muster = (...args) => {
        const r = spawnSync(MUSTER, args, {env, encoding: "utf8", cwd: home, timeout: 60000});
        return {rc: r.status, out: r.stdout, err: r.stderr};
    };
    let child = null, log = "";
    const me = {
        home, env, muster,
        log: () => log,
        async start() {
            child = spawn(MUSTER, ["serve"], {env, cwd: home, stdio: ["ignore", "pipe", "pipe"]});
            child.stdout.on("data", d => log += d);
            child.stderr.on("data", d => log += d);
            // `muster list` also answers without a daemon.
            await until(() => answers(path.join(home, "run/daemon/http.sock")), `muster serve is ready; ${log}`);
        },
        async stop(signal) {
            const c = child;
            child = null;
            if (!c || c.exitCode !== null || c.signalCode !== null)
                return;
            await new Promise(done => {
                c.once("exit", done);
                c.kill(signal || "SIGTERM");
            });
        },
        async link(job) {
            const r = muster("open", ...(job ? [job] : []));
            const m = /http:\/\/127\.0\.0\.1:\d+\/#once=\S+/.exec(r.out + r.err);
            if (!m)
                throw new Error(`muster open: ${r.rc} ${r.out}${r.err}`);
            return m[0];
        },
        submit(text, ...options) {
            const file = path.join(home, `job-${process.hrtime.bigint()}.yaml`);
            fs.writeFileSync(file, text);
            const r = muster("submit", ...options, file);
            if (r.rc !== 0)
                throw new Error(`muster submit: ${r.err}`);
            return r.out.trim();
        },
    };
    ends.push(async () => {
        const ids = () => muster("list", "-o", "name", "--state", "waiting,pending,running,paused").out.split("\n").filter(id => id);
        if (child) {
            ids().forEach(id => muster("cancel", id));
            for (const id of ids())
                muster("wait", id);
        }
        await me.stop("SIGTERM");
    });
    if (muster("open", "--help").rc !== 0)
        skipAll("this muster has no verb open");
    await me.start();
    return me;
}

module.exports = {TOP, MUSTER, OUT, ok, is, like, diag, until, sleep, skipAll, main, modules, browser, needBrowser, noHarm, accessible, shot, mock, daemon, temp};

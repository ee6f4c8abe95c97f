// main.js - the frame around the pages: session, address, navigation, theme, keys.
import * as api from "./api.js";
import {h, fill, say} from "./dom.js";
import {onConnection} from "./stream.js";

const PAGES = {
    jobs: () => import("./jobs.js"),
    job: () => import("./job.js"),
    queue: () => import("./queue.js"),
    submit: () => import("./submit.js"),
};
const SMALL = new Set(["jobs"]); // what style.css alone is enough for
const NAV = [["jobs", "Jobs"], ["queue", "Queue"], ["submit", "Submit"]];
const THEMES = ["auto", "light", "dark"];

const main = document.getElementById("main");
let current = null; // {name, page}
let version = null;
let number = 0;

// --- address -------------------------------------------------------------------------------------

// #/job/ID/logs?rank=2 is {name: "job", path: ["ID", "logs"], params}
export function parseAddress(hash) {
    const text = hash.replace(/^#\/?/, "");
    const q = text.indexOf("?");
    const path = (q < 0 ? text : text.slice(0, q)).split("/").filter(x => x).map(x => {
        try {
            return decodeURIComponent(x);
        } catch {
            return x;
        }
    });
    return {name: path.shift() || "jobs", path, params: new URLSearchParams(q < 0 ? "" : text.slice(q + 1))};
}

let styles = null;
function moreStyles() {
    styles = styles || new Promise((done, fail) => {
        document.head.append(h("link", {rel: "stylesheet", href: "/assets/pages.css", onload: done, onerror: () => {
            styles = null;
            fail(new Error("The daemon is not reachable."));
        }}));
    });
    return styles;
}

async function show() {
    const mine = ++number;
    const address = parseAddress(location.hash);
    if (!api.hasSession())
        return;
    if (!PAGES[address.name])
        address.name = "jobs";
    const key = address.name + (address.name === "job" ? `/${address.path[0]}` : "");
    if (current && current.key === key && current.page.update) {
        current.page.update(address);
        return;
    }
    if (current && current.page)
        current.page.close();
    current = null;
    for (const a of document.querySelectorAll(".top nav a"))
        if (a.dataset.page === (address.name === "job" ? "jobs" : address.name))
            a.setAttribute("aria-current", "page");
        else
            a.removeAttribute("aria-current");
    try {
        // A module that is loaded from a server that has not proved who it is would have the token.
        await api.trust();
        const [page] = await Promise.all([PAGES[address.name](), SMALL.has(address.name) || moreStyles()]);
        if (mine !== number)
            return;
        const root = h("div", {class: `page page-${address.name}`});
        fill(main, root);
        window.scrollTo(0, 0);
        current = {key, page: page.open(root, address)};
    } catch (e) {
        if (mine !== number || e.status === 401)
            return;
        fill(main, h("div", {class: "notice"}, h("h1", null, "This page cannot be shown"), h("p", null, e.message),
            h("button", {onclick: show}, "Try again")));
        setTimeout(() => mine === number && show(), 3000);
    }
}

// --- session -------------------------------------------------------------------------------------

function noSession(title, text) {
    number++;
    if (current && current.page)
        current.page.close();
    current = null;
    document.title = "Muster";
    fill(main, h("div", {class: "notice", role: "alert"}, h("h1", null, title), h("p", null, text),
        h("p", null, "Run this in a terminal on the machine of the daemon; it opens the page again:"),
        h("pre", {class: "command"}, "muster open")));
    document.querySelector(".top nav").hidden = true;
    document.getElementById("connection").textContent = "";
}

async function begin() {
    const once = /^#once=([^&]+)(?:&job=([^&]+))?/.exec(location.hash);
    if (once) {
        // The key leaves the address before anything else can fail.
        history.replaceState(null, "", once[2] ? `#/job/${once[2]}` : "#/jobs");
        try {
            await api.openSession(decodeURIComponent(once[1]));
        } catch (e) {
            if (e.status === 0) {
                noSession("The daemon is not reachable", e.message);
                return;
            }
            noSession("This link was used before or is too old", "A link opens the page once, within a minute.");
            return;
        }
    } else if (!api.loadSession()) {
        noSession("No session", "The page needs a one-time link.");
        return;
    }
    document.querySelector(".top nav").hidden = false;
    api.get("/version").then(v => {
        version = v;
        document.getElementById("where").textContent = `${v.user}@${v.host}`;
        document.getElementById("where").title = `muster ${v.version} (${v.commit || "unknown commit"})`;
    }, () => {});
    show();
}

// --- the top -------------------------------------------------------------------------------------

function theme() {
    return localStorage.getItem("theme") || "auto";
}

function applyTheme() {
    if (theme() === "auto")
        delete document.documentElement.dataset.theme;
    else
        document.documentElement.dataset.theme = theme();
}

function drawTop() {
    const button = h("button", {class: "quiet", id: "theme", onclick: () => {
        localStorage.setItem("theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
        applyTheme();
        label();
    }});
    const label = () => {
        button.textContent = `Theme: ${theme()}`;
    };
    label();
    fill(document.getElementById("top"),
        h("a", {class: "mark", href: "#/jobs"}, "muster"),
        h("nav", {"aria-label": "Pages"}, NAV.map(([name, text]) =>
            h("a", {href: `#/${name}`, data: {page: name}}, text))),
        h("span", {class: "space"}),
        h("span", {id: "connection", class: "connection", role: "status"}),
        h("span", {id: "where", class: "where"}),
        button, h("button", {class: "quiet", id: "keys", title: "Keyboard shortcuts", "aria-label": "Keyboard shortcuts",
            onclick: showKeys}, "?"));
}

let countdown = 0;
function connection(state) {
    const el = document.getElementById("connection");
    if (!el || !api.hasSession())
        return;
    clearInterval(countdown);
    el.dataset.word = state.word;
    const draw = () => {
        const s = Math.max(0, Math.ceil((state.at - Date.now()) / 1000));
        el.textContent = state.word === "live" ? "live" : state.word === "retrying" ?
            `connection lost, next try in ${s} s` : state.word === "asleep" ? "paused" : "connecting";
    };
    draw();
    if (state.word === "retrying")
        countdown = setInterval(draw, 1000);
}

// --- keys ----------------------------------------------------------------------------------------

const KEYS = [["g then j, q, s", "go to jobs, queue, submit"], ["/", "search"], ["j, k", "next, previous row"],
    ["Enter", "open"], ["1 … 6", "sections of a job"], ["f", "follow the log"], ["?", "this list"]];

function showKeys() {
    const d = h("dialog", {"aria-label": "Keyboard shortcuts", onclose: () => d.remove()},
        h("h2", null, "Keyboard shortcuts"),
        h("dl", {class: "keys"}, KEYS.map(([k, t]) => [h("dt", null, h("kbd", null, k)), h("dd", null, t)])),
        h("form", {method: "dialog"}, h("button", {class: "primary"}, "Close")));
    document.body.append(d);
    d.showModal();
}

let went = 0;
function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]"))
        return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName))
        return;
    if (went && Date.now() - went < 1500) {
        const to = {j: "jobs", q: "queue", s: "submit"}[e.key];
        went = 0;
        if (to) {
            location.hash = `#/${to}`;
            e.preventDefault();
            return;
        }
    }
    if (e.key === "g")
        went = Date.now();
    else if (e.key === "?")
        showKeys();
    else if (e.key === "/") {
        const search = main.querySelector("input[type=search]");
        if (!search)
            return;
        search.focus();
    } else if (!(current && current.page.key && current.page.key(e)))
        return;
    e.preventDefault();
}

applyTheme();
drawTop();
onConnection(connection);
api.onSession(what => {
    if (what === "ended")
        noSession("The session has ended", "A session lasts 12 hours; it also ends when the daemon's state is lost.");
    else if (what === "lost")
        say("Connection lost");
    else if (what === "back")
        say("Connected again");
});
window.addEventListener("hashchange", () => /^#once=/.test(location.hash) ? begin() : show());
document.addEventListener("keydown", key);
begin();

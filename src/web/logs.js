// logs.js - logs of one rank, one replica, or all merged: search, follow, a link to each line. At most
// MOST lines are in the document; a long line is cut until it is asked for.
import * as api from "./api.js";
import {classes, pieces, textOf} from "./ansi.js";
import {atMost, fill, h, later} from "./dom.js";
import {clock, count, full, plural} from "./format.js";
import {attemptOf} from "./model.js";

const MOST = 5000, FIRST = 500, CUT = 1000, NEAR = 24;
const SEARCHES = 8; // answers of a search that found little, before a click is needed

function textNodes(text, find) {
    return pieces(text).map(p => {
        const c = `${classes(p.look)}${p.control ? " ctl" : ""}`.trim();
        const inner = find ? marked(p.text, find) : p.text;
        return c ? h("span", {class: c}, inner) : inner;
    });
}

function marked(text, find) {
    const out = [];
    const low = text.toLowerCase(), word = find.toLowerCase();
    let from = 0;
    for (let i = low.indexOf(word); i >= 0 && out.length < 200; i = low.indexOf(word, from)) {
        out.push(text.slice(from, i), h("mark", null, text.slice(i, i + word.length)));
        from = i + word.length;
    }
    out.push(text.slice(from));
    return out;
}

export function open(root, ctx) {
    let choice = null, closed = false, asked = 0, before = null, follow = false, busy = false;
    let pending = [], hidden = 0, unlisten = null;
    const seen = new Set();

    // --- the frame ---

    const which = h("select", {"aria-label": "Which log", onchange: () => change({which: which.value})});
    const attempts = h("select", {"aria-label": "Attempt", onchange: () => change({attempt: attempts.value})});
    const search = h("input", {type: "search", placeholder: "Only lines with this text", "aria-label": "Only lines with this text",
        oninput: later(() => change({q: search.value}), 300)});
    const followButton = h("button", {"aria-pressed": "false", onclick: () => setFollow(!follow)}, "Follow");
    const wrap = h("button", {"aria-pressed": "true", onclick: () => {
        const on = !log.classList.contains("wrap");
        log.classList.toggle("wrap", on);
        wrap.setAttribute("aria-pressed", String(on));
    }}, "Wrap");
    const save = h("button", {onclick: () => download()}, "Save");
    const log = h("div", {class: "log wrap", tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Log", onscroll: () => scrolled()});
    const foot = h("div", {class: "log-foot"});
    const older = h("div", {class: "more"});
    fill(root, h("div", {class: "tools"}, which, attempts, search, followButton, wrap, save), h("div", {class: "log-box"}, log, foot));

    function readAddress() {
        const p = ctx.params();
        return {which: p.get("rank") !== null ? `rank ${p.get("rank")}` : p.get("replica") ? `replica ${p.get("replica")}` : "all", attempt: p.get("attempt") || "",
            q: p.get("q") || "", at: p.get("at"), end: p.get("end")};
    }

    function params(c) {
        return {rank: c.which.startsWith("rank ") ? c.which.slice(5) : null, replica: c.which.startsWith("replica ") ? c.which.slice(8) : null, attempt: c.attempt || null};
    }

    function drawChoices() {
        const report = ctx.report(), attempt = attemptOf(report, Number(choice.attempt) || null);
        const ranks = attempt && attempt.ranks || [], replicas = attempt && attempt.replicas || [];
        const key = `${ranks.length} ${replicas.length} ${(report.attempts || []).length} ${choice.which} ${choice.attempt}`;
        if (which.dataset.key === key)
            return;
        which.dataset.key = key;
        const cause = attempt && attempt.cause || report.cause;
        fill(which, h("option", {value: "all"}, "All, merged by time"),
            replicas.length ? h("optgroup", {label: "Replicas"}, replicas.map(r => h("option", {value: `replica ${r.name}`},
                `${r.name}${cause && cause.replica === r.name && (cause.rank === null || cause.rank === undefined) ? " (failed first)" : ""}`))) : null,
            ranks.length ? h("optgroup", {label: "Ranks"}, ranks.map(r => h("option", {value: `rank ${r.rank}`},
                `rank ${r.rank} on ${r.replica}${cause && cause.rank === r.rank ? " (failed first)" : r.outcome === "failed" ? " (failed)" : ""}`))) : null);
        if (!Array.from(which.options).some(o => o.value === choice.which))
            which.append(h("option", {value: choice.which}, choice.which));
        which.value = choice.which;
        const list = report.attempts || [];
        attempts.hidden = list.length < 2;
        fill(attempts, list.map(a => h("option", {value: a.number === list[list.length - 1].number ? "" : a.number}, `Attempt ${a.number}`)));
        attempts.value = choice.attempt;
    }

    function change(c) {
        choice = {...choice, ...c, at: null, end: null};
        ctx.replace("logs", {...params(choice), q: choice.q});
        load();
    }

    // --- lines ---

    const keyOf = l => l.log && l.offset !== null && l.offset !== undefined ? `${l.attempt} ${l.log} ${l.offset}` : null;

    // A cursor of the daemon's: the line's own place.
    const placeOf = l => `${l.at ? Date.parse(l.at) : 0}.${l.offset}.${l.log}`;

    // The place just before it, so that "after" begins with the line.
    function placeBefore(place) {
        const [, ms, offset, name] = /^(\d+)\.(\d+)\.(.*)$/.exec(place) || [null, 0, 0, ""];
        return Number(offset) > 0 ? `${ms}.${Number(offset) - 1}.${name}` : `${ms}.0.`;
    }

    function row(l) {
        const who = l.rank !== null && l.rank !== undefined ? `${l.replica}/${l.rank}` : l.replica;
        const long = l.text.length > CUT;
        const text = h("span", {class: "text"}, textNodes(long ? l.text.slice(0, CUT) : l.text, choice.q));
        if (long)
            text.append(h("button", {class: "rest", onclick: e => {
                e.stopPropagation();
                fill(text, textNodes(l.text, choice.q));
            }}, `${count(l.text.length - CUT)} more characters`));
        const link = ctx.href("logs", {rank: l.rank, replica: l.rank === null || l.rank === undefined ? l.replica : null, attempt: choice.attempt || null, at: placeOf(l)});
        return h("div", {class: "row", data: {key: keyOf(l) || ""}}, choice.which === "all" || choice.which.startsWith("replica") ? h("span", {class: "who"}, who) : null,
            h("a", {class: "at", href: link, title: l.at ? `${full(l.at)}: link to this line` : "link to this line"}, l.at ? clock(l.at, true) : "·"), text);
    }

    // Rows of the lines that are not in the document yet.
    function newRows(lines) {
        const rows = document.createDocumentFragment();
        for (const l of lines) {
            const k = keyOf(l);
            if (k && seen.has(k))
                continue;
            if (k)
                seen.add(k);
            rows.append(row(l));
        }
        return rows;
    }

    function append(lines) {
        log.append(newRows(lines));
        trim();
    }

    function trim() {
        let n = log.childElementCount - 1 - MOST;
        if (n <= 0)
            return;
        // From the top only: the older ones can be had again.
        for (; n > 0; n--) {
            const r = older.nextSibling;
            if (r.dataset.key)
                seen.delete(r.dataset.key);
            r.remove();
        }
        before = null;
        fill(older, h("button", {onclick: () => load()}, "Older lines are not shown; load the end again"));
    }

    function drawOlder(incomplete) {
        fill(older, before ? h("button", {onclick: () => loadOlder()}, incomplete ? "Search further back" : "Older lines") : h("span", null, "Beginning of the log"),
            incomplete ? h("span", null, " Only a part of the logs was searched so far.") : null);
    }

    function drawFoot(text) {
        const n = Math.max(0, log.childElementCount - 1);
        fill(foot, h("span", null, text || plural(n, "line")), hidden ? h("button", {onclick: () => setFollow(true)}, `${count(hidden)} new lines`) : null,
            h("span", {class: "space"}), ctx.ended() ? h("span", null, "the job has ended") : null);
    }

    const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
    const toEnd = () => {
        log.scrollTop = log.scrollHeight;
    };

    async function ask(extra) {
        const c = choice;
        return api.get(`/jobs/${encodeURIComponent(ctx.id)}/logs${api.query({...params(c), grep: c.q, tail: FIRST, ...extra})}`);
    }

    async function load() {
        const mine = ++asked;
        drawChoices();
        if (document.activeElement !== search)
            search.value = choice.q;
        const at = choice.at;
        try {
            const a = await ask(at ? {after: placeBefore(at)} : {});
            if (mine !== asked || closed)
                return;
            seen.clear();
            pending = pending.filter(l => wanted(l));
            hidden = 0;
            before = a.before;
            fill(log, older);
            append(a.lines);
            drawOlder(a.incomplete);
            if (at) {
                await reach(at, mine);
            } else {
                for (let i = 0; i < SEARCHES && a.incomplete && before && log.childElementCount < 50 && mine === asked; i++)
                    await loadOlder();
                toEnd();
                if (choice.end && a.lines.length) {
                    log.lastElementChild.classList.add("target");
                    log.focus({preventScroll: true});
                }
            }
            flush();
            drawFoot();
            if (log.childElementCount === 1)
                fill(foot, choice.q ? "No line has this text." : ctx.ended() ? "This log is empty." : "Nothing was written yet.");
        } catch (e) {
            if (mine === asked && !closed && e.status !== 401)
                fill(log, older, h("p", {class: "more"}, e.message));
        }
    }

    async function reach(at, mine) {
        const [, offset, name] = /^\d+\.(\d+)\.(.*)$/.exec(at) || [];
        const r = Array.from(log.querySelectorAll(".row")).find(x => x.dataset.key.endsWith(` ${name} ${offset}`));
        if (!r) {
            drawFoot("The line of this link is not in the log (any more).");
            return;
        }
        if (before)
            await loadOlder();
        if (mine !== asked)
            return;
        r.classList.add("target");
        r.scrollIntoView({block: "center"});
    }

    async function loadOlder() {
        if (!before || busy)
            return;
        busy = true;
        try {
            const mine = asked, a = await ask({before});
            if (mine !== asked || closed)
                return;
            const height = log.scrollHeight, top = log.scrollTop;
            older.after(newRows(a.lines));
            before = a.before;
            // At the end some go: who reads upwards does not see it.
            while (log.childElementCount - 1 > MOST) {
                seen.delete(log.lastElementChild.dataset.key);
                log.lastElementChild.remove();
            }
            drawOlder(a.incomplete);
            log.scrollTop = top + log.scrollHeight - height;
            drawFoot();
        } finally {
            busy = false;
        }
    }

    function scrolled() {
        if (log.scrollTop < 40 && before && !follow)
            loadOlder();
        if (follow && !atEnd() && !scrolling)
            setFollow(false);
    }

    // --- following ---

    const wanted = l => (choice.which === "all" || choice.which === `rank ${l.rank}` || choice.which === `replica ${l.replica}`) &&
        (!choice.q || textOf(l.text).includes(choice.q));
    let scrolling = false;

    const flush = atMost(() => {
        if (closed || !pending.length)
            return;
        if (!follow) {
            hidden += pending.length;
            pending = pending.slice(-MOST);
            drawFoot();
            return;
        }
        const lines = pending.slice(-MOST);
        if (lines.length < pending.length)
            append([]);
        pending = [];
        hidden = 0;
        append(lines);
        scrolling = true;
        toEnd();
        requestAnimationFrame(() => {
            scrolling = false;
        });
        drawFoot();
    }, 120);

    function takeLines(data) {
        if (data.started) {
            catchUp();
            return;
        }
        const lines = (data.lines || []).filter(wanted);
        for (const l of lines)
            pending.push(l);
        if (pending.length > 2 * MOST)
            pending = pending.slice(-MOST);
        if (follow && (data.dropped || data.gap))
            log.append(h("div", {class: "more"}, data.gap ? "The connection was lost here; some lines are not shown." :
                `${count(data.dropped)} lines of the job are not shown here: it writes faster than they are sent.`));
        if (lines.length)
            flush();
    }

    // Between the first request and the beginning of the stream lines may have been written.
    const catchUp = later(async () => {
        try {
            const a = await ask({});
            if (closed || !follow)
                return;
            const news = a.lines.filter(l => !seen.has(keyOf(l)));
            pending = [...news, ...pending];
            flush();
        } catch { /* the stream says what is wrong */ }
    }, 50);

    function setFollow(on) {
        follow = on;
        followButton.setAttribute("aria-pressed", String(on));
        if (on) {
            if (!unlisten && !ctx.ended())
                unlisten = ctx.onLines(takeLines);
            if (choice.at) {
                choice.at = null;
                load();
            }
            hidden = 0;
            flush();
            toEnd();
            drawFoot();
        }
    }

    async function download() {
        const a = await ask({tail: 100000});
        const text = a.lines.map(l => `${l.at || ""} [${l.replica}${l.rank !== null && l.rank !== undefined ? `/${l.rank}` : ""}] ${textOf(l.text)}\n`).join("");
        const url = URL.createObjectURL(new Blob([text], {type: "text/plain"}));
        const link = h("a", {href: url, download: `${ctx.id}-${choice.which.replace(" ", "-")}.log`});
        link.click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
    }

    choice = readAddress();
    search.value = choice.q;
    load().then(() => !closed && !ctx.ended() && !choice.at && !choice.end && setFollow(true));

    return {
        address() {
            choice = readAddress();
            which.dataset.key = "";
            search.value = choice.q;
            load();
        },
        changed() {
            drawChoices();
            followButton.hidden = ctx.ended();
            if (ctx.ended() && follow) {
                setFollow(false);
                setTimeout(() => !closed && load(), 300);
            }
        },
        close() {
            closed = true;
            flush.stop();
            catchUp.stop();
            if (unlisten)
                unlisten();
        },
        key(e) {
            if (e.key !== "f" || ctx.ended())
                return false;
            setFollow(!follow);
            return true;
        },
    };
}

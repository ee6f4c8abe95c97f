// stream.js - a stream of events that comes back: fetch with the token in a header (EventSource has
// no headers), a cursor to continue with, a back-off, and silence counted as loss.
import * as api from "./api.js";
import {EventText} from "./sse.js";

const SILENCE = 40000; // a comment comes every 15 s
const HIDDEN = 30000;  // a browser has six connections per server: hidden pages give theirs back
const DELAYS = [300, 700, 1500, 3000, 5000, 8000];

let state = {word: "connecting", at: 0};
const watchers = new Set();

// {word: connecting|live|retrying|asleep, at: when it is tried again}
export function onConnection(f) {
    watchers.add(f);
    f(state);
}

function become(word, at) {
    state = {word, at};
    for (const f of watchers)
        f(state);
}

// handlers: {TYPE: f(data)}, and `reconnected()` after a gap, `refused(error)` for an answer that
// trying again does not change. Returns {close, restart}.
export function stream(params, handlers) {
    let closed = false, cursor = null, tries = 0, ended = false;
    let abort = null, timer = 0, dog = 0, hide = 0, first = true;

    const again = () => {
        if (closed || ended)
            return;
        const ms = DELAYS[Math.min(tries, DELAYS.length - 1)] * (0.8 + Math.random() * 0.4);
        tries++;
        become("retrying", Date.now() + ms);
        clearTimeout(timer);
        timer = setTimeout(connect, ms);
    };
    const watch = () => {
        clearTimeout(dog);
        dog = setTimeout(() => abort && abort.abort(), SILENCE);
    };
    const handle = e => {
        if (e.id !== null)
            cursor = e.id;
        if (e.data === "")
            return;
        let data;
        try {
            data = JSON.parse(e.data);
        } catch {
            return;
        }
        if (e.type === "end")
            ended = true;
        if (handlers[e.type])
            handlers[e.type](data);
    };
    const read = async r => {
        const reader = r.body.getReader();
        const decoder = new TextDecoder();
        const text = new EventText();
        for (;;) {
            const {value, done} = await reader.read();
            if (done)
                return;
            watch();
            for (const e of text.feed(decoder.decode(value, {stream: true}))) {
                if (closed)
                    return;
                handle(e);
            }
        }
    };

    async function connect() {
        clearTimeout(timer);
        if (closed || abort)
            return;
        const mine = abort = new AbortController();
        try {
            watch();
            const r = await api.open(`/stream${api.query({...params, after: cursor})}`, {signal: mine.signal});
            if (!r.ok) {
                const body = await r.json().catch(() => null);
                throw new api.ApiError(r.status, body);
            }
            become("live", 0);
            if (!first && handlers.reconnected)
                handlers.reconnected();
            first = false;
            const began = Date.now();
            await read(r);
            if (Date.now() - began > 5000)
                tries = 0;
            // The daemon closes a stream only if it ends itself.
            if (!ended && !closed)
                api.connectionLost();
        } catch (e) {
            if (e.status === 401 || closed)
                return;
            if (e.status === 404 || e.status === 400 || e.status === 403) {
                become("live", 0);
                if (handlers.refused)
                    handlers.refused(e);
                closed = true;
                return;
            }
            if (e.status === 410 || e.status === 409)
                cursor = null;
            if (!e.status && mine === abort)
                api.connectionLost();
        } finally {
            clearTimeout(dog);
            if (mine === abort)
                abort = null;
        }
        if (mine.asleep)
            become("asleep", 0);
        else
            again();
    }

    const wake = () => {
        clearTimeout(hide);
        if (document.hidden) {
            hide = setTimeout(() => {
                if (abort) {
                    abort.asleep = true;
                    abort.abort();
                }
                clearTimeout(timer);
            }, HIDDEN);
        } else if (!abort && !ended) {
            tries = 0;
            connect();
        }
    };
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    connect();

    return {
        close() {
            closed = true;
            clearTimeout(timer);
            clearTimeout(dog);
            clearTimeout(hide);
            document.removeEventListener("visibilitychange", wake);
            window.removeEventListener("online", wake);
            if (abort)
                abort.abort();
        },
    };
}

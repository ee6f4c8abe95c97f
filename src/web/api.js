// api.js - requests to the daemon, and the session they are made with.
//
// The token is in sessionStorage only. A connection that was lost may come back as somebody else's
// server on the same port; so after a loss nothing is sent with the token before the server has
// proved that it knows it (doc/design/api.md, "Proof").

const BASE = "/api/v1";
const listeners = new Set();
let token = null;
let trusted = true;
let proving = null;

export class ApiError extends Error {
    constructor(status, body) {
        const e = body && body.error || {};
        super(e.message || (status ? `the daemon answered with status ${status}` : "the daemon is not reachable"));
        this.status = status;
        this.code = e.code || (status ? "unknown" : "unreachable");
        this.hint = e.hint || null;
        this.diagnostics = e.diagnostics || body && body.diagnostics || null;
    }
}

// "ended": there is no session any more. "lost" and "back": the connection.
export function onSession(f) {
    listeners.add(f);
}

function tell(what) {
    for (const f of listeners)
        f(what);
}

export function hasSession() {
    return !!token;
}

export function loadSession() {
    token = sessionStorage.getItem("token");
    // The page was loaded from whoever listens now: that is not proof of anything.
    trusted = false;
    return !!token;
}

export async function openSession(once) {
    let body = null, status = 0;
    try {
        const r = await fetch(`${BASE}/session`, {method: "POST", cache: "no-store",
            headers: {"Content-Type": "application/json"}, body: JSON.stringify({once})});
        status = r.status;
        body = await r.json();
    } catch {
        throw new ApiError(status, body);
    }
    if (status >= 300)
        throw new ApiError(status, body);
    token = body.token;
    trusted = true;
    sessionStorage.setItem("token", token);
}

export function endSession() {
    token = null;
    sessionStorage.removeItem("token");
    tell("ended");
}

export function connectionLost() {
    if (trusted)
        tell("lost");
    trusted = false;
}

const hex = buf => Array.from(new Uint8Array(buf), b => b.toString(16).padStart(2, "0")).join("");

async function prove() {
    const text = new TextEncoder();
    const key = await crypto.subtle.digest("SHA-256", text.encode(token));
    const id = hex(await crypto.subtle.digest("SHA-256", key)).slice(0, 16);
    const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
    let r;
    try {
        r = await fetch(`${BASE}/session/proof`, {method: "POST", cache: "no-store",
            headers: {"Content-Type": "application/json"}, body: JSON.stringify({id, nonce})});
    } catch {
        throw new ApiError(0);
    }
    if (r.status === 404) {
        endSession();
        throw new ApiError(401, null);
    }
    const body = await r.json().catch(() => null);
    if (r.status !== 200)
        throw new ApiError(r.status, body);
    const mac = await crypto.subtle.importKey("raw", key, {name: "HMAC", hash: "SHA-256"}, false, ["sign"]);
    const want = hex(await crypto.subtle.sign("HMAC", mac,
        text.encode(`muster-session\n127.0.0.1:${location.port}\n${nonce}`)));
    if (!body || body.proof !== want) {
        endSession();
        throw new ApiError(401, {error: {message: "this server does not know the session; the page sent it nothing"}});
    }
    trusted = true;
    tell("back");
}

// On HTTPS the certificate is the proof.
export async function trust() {
    if (trusted || location.protocol === "https:")
        return;
    proving = proving || prove().finally(() => {
        proving = null;
    });
    await proving;
}

// The answer itself, for streams.
export async function open(path, options = {}) {
    if (!token)
        throw new ApiError(401, null);
    await trust();
    let r;
    try {
        r = await fetch(BASE + path, {cache: "no-store", ...options,
            headers: {...options.headers, Authorization: `Bearer ${token}`}});
    } catch (e) {
        if (e.name === "AbortError")
            throw e;
        connectionLost();
        throw new ApiError(0);
    }
    if (r.status === 401) {
        endSession();
        throw new ApiError(401, await r.json().catch(() => null));
    }
    return r;
}

async function request(method, path, body, signal) {
    const r = await open(path, {method, signal, headers: body === undefined ? {} :
        {"Content-Type": "application/json"}, body: body === undefined ? undefined : JSON.stringify(body)});
    if (r.status === 204)
        return null;
    let answer = null;
    try {
        answer = await r.json();
    } catch (e) {
        if (e.name === "AbortError")
            throw e;
        if (r.ok)
            throw new ApiError(0);
    }
    if (!r.ok)
        throw new ApiError(r.status, answer);
    return answer;
}

export const get = (path, signal) => request("GET", path, undefined, signal);
export const post = (path, body, signal) => request("POST", path, body === undefined ? {} : body, signal);
export const del = path => request("DELETE", path);

// Parameters without a value are left out.
export function query(params) {
    const q = new URLSearchParams();
    for (const [k, v] of Object.entries(params))
        if (v !== null && v !== undefined && v !== "")
            q.set(k, v);
    const text = q.toString();
    return text ? `?${text}` : "";
}

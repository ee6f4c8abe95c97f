// states.js - the words of states, and a shape for each: a state is never told by its colour alone.
import {h, s} from "./dom.js";

// In a square of 16.
const SHAPES = {
    waiting: "M8 2.500a5.500 5.500 0 1 0 0 11a5.500 5.500 0 0 0 0-11zM8 4.800V8l2.300 1.500",
    starting: "M8 2.500a5.500 5.500 0 1 1-5.500 5.500",
    running: "M5 3.200v9.600l8-4.800z",
    stopping: "M5 5h6v6h-6zM2.500 2.500h11v11h-11z",
    paused: "M5.300 3.500v9M10.700 3.500v9",
    succeeded: "M3 8.500l3.300 3.300L13 4.800",
    failed: "M4 4l8 8M12 4l-8 8",
    cancelled: "M8 2.500a5.500 5.500 0 1 0 0 11a5.500 5.500 0 0 0 0-11zM4.100 11.900l7.800-7.800",
    stopped: "M4 4h8v8h-8z",
    lost: "M5.700 6a2.300 2.300 0 1 1 3.300 2.100c-.7.4-1 .8-1 1.500M8 12v.6",
    "never-started": "M3.500 8h9",
};
const SAME = {pending: "waiting", gone: "lost", unknown: "lost", ended: "stopped", queued: "waiting",
    killing: "stopping", ending: "stopping", held: "paused", debugging: "running"};
const FILLED = {running: true};

export const STATES = ["waiting", "running", "paused", "succeeded", "failed", "cancelled", "lost"];

export function canonical(word) {
    return SAME[word] || (SHAPES[word] ? word : "lost");
}

export function stateOf(job) {
    if (job.outcome)
        return canonical(job.outcome);
    return canonical(job.phase);
}

export function hasEnded(job) {
    return !!job.outcome || job.phase === "ended";
}

export function icon(word) {
    const name = canonical(word);
    return s("svg", {class: `icon ${FILLED[name] ? "solid" : ""} s-${name}`, viewBox: "0 0 16 16",
        "aria-hidden": "true"}, s("path", {d: SHAPES[name]}));
}

export function shape(word) {
    return SHAPES[canonical(word)];
}

export function badge(word) {
    return h("span", {class: `state s-${canonical(word)}`}, icon(word), word.replace("-", " "));
}

// Platforms' failures are retried without using up the job's own budget: they are counted apart.
const PLATFORM = new Set(["lost", "gone", "evicted", "unschedulable", "image", "port", "not-ready"]);

export function retries(report) {
    const n = {user: 0, platform: 0, restarts: 0};
    const attempts = report.attempts || [];
    attempts.forEach((a, i) => {
        for (const r of a.replicas || [])
            n.restarts += r.restarts || 0;
        if (i + 1 < attempts.length && a.cause)
            n[PLATFORM.has(a.cause.kind) ? "platform" : "user"]++;
    });
    return n;
}

export function isPlatforms(cause) {
    return !!cause && PLATFORM.has(cause.kind);
}

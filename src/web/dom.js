// dom.js - how elements are made. All text goes through text nodes: nothing that comes from a job,
// a log or a file is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

function add(el, children) {
    for (const c of children.flat(Infinity))
        if (c !== null && c !== undefined && c !== false)
            el.append(c instanceof Node ? c : String(c));
    return el;
}

function set(el, props) {
    for (const [name, value] of Object.entries(props || {})) {
        if (value === null || value === undefined || value === false)
            continue;
        if (name.startsWith("on"))
            el.addEventListener(name.slice(2), value);
        else if (name === "data")
            Object.assign(el.dataset, value);
        else if (name === "value" || name === "checked" || name === "disabled")
            el[name] = value;
        else
            el.setAttribute(name, value === true ? "" : value);
    }
    return el;
}

// h("a", {class: "x", href: "#"}, "text", child…)
export function h(tag, props, ...children) {
    return add(set(document.createElement(tag), props), children);
}

export function s(tag, props, ...children) {
    return add(set(document.createElementNS(SVG, tag), props), children);
}

export function fill(el, ...children) {
    el.replaceChildren();
    return add(el, children);
}

let sayTimer;
// For screen readers; the last sentence within 100 ms counts.
export function say(text) {
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => {
        document.getElementById("status").textContent = text;
    }, 100);
}

export function later(f, ms) {
    let timer = 0;
    const run = (...args) => {
        clearTimeout(timer);
        timer = setTimeout(() => f(...args), ms);
    };
    run.stop = () => clearTimeout(timer);
    return run;
}

// At most once in ms, and always a last time.
export function atMost(f, ms) {
    let timer = 0, last = 0;
    const run = () => {
        if (timer)
            return;
        timer = setTimeout(() => {
            timer = 0;
            last = Date.now();
            f();
        }, Math.max(0, last + ms - Date.now()));
    };
    run.stop = () => {
        clearTimeout(timer);
        timer = 0;
    };
    return run;
}

// ansi.js - a line of a log as pieces of text with looks. Colours and styles (SGR) are kept; every
// other escape sequence is dropped; what is left of control characters becomes visible. Pure.

const ESC = "\u001b";
// Overrides of direction would make a line read as something else.
const BIDI = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/;

function sequenceEnd(text, i) {
    // text[i] is ESC, or a C1 control that stands for ESC and a letter
    const kind = text[i] === ESC ? text[i + 1] : String.fromCharCode(text.charCodeAt(i) - 0x40);
    let at = text[i] === ESC ? i + 2 : i + 1;
    if (kind === undefined)
        return {end: text.length};
    if (kind === "[") {
        const from = at;
        while (at < text.length && text[at] >= "\u0020" && text[at] <= "\u003f")
            at++;
        return {end: Math.min(text.length, at + 1), sgr: text[at] === "m" ? text.slice(from, at) : null};
    }
    if (kind === "]" || kind === "P" || kind === "X" || kind === "^" || kind === "_") {
        // A string: ends with BEL or ST; one without an end is as long as the line.
        for (; at < text.length; at++) {
            if (text[at] === "\u0007" || text[at] === "\u009c")
                return {end: at + 1};
            if (text[at] === ESC && text[at + 1] === "\\")
                return {end: at + 2};
        }
        return {end: text.length};
    }
    while (at - 1 < text.length && text[at - 1] >= "\u0020" && text[at - 1] <= "\u002f")
        at++;
    return {end: Math.min(text.length, at)};
}

function cube(n) {
    if (n < 16)
        return null;
    if (n >= 232) {
        const v = 8 + (n - 232) * 10;
        return [v, v, v];
    }
    const level = x => x === 0 ? 0 : 55 + 40 * x;
    n -= 16;
    return [level(Math.floor(n / 36)), level(Math.floor(n / 6) % 6), level(n % 6)];
}

// The nearest of the eight: the page's own colours are legible in both themes, a job's need not be.
function nearest([r, g, b]) {
    const max = Math.max(r, g, b), min = Math.min(r, g, b);
    if (max - min < 40)
        return max < 90 ? 0 : 7;
    const bit = v => v > (max + min) / 2 ? 1 : 0;
    return bit(r) | bit(g) << 1 | bit(b) << 2;
}

function colour(codes, i) {
    if (codes[i + 1] === 5 && codes[i + 2] >= 0 && codes[i + 2] < 256) {
        const rgb = cube(codes[i + 2]);
        return {value: rgb ? nearest(rgb) : codes[i + 2] % 8, used: 2};
    }
    if (codes[i + 1] === 2 && codes.length > i + 4)
        return {value: nearest(codes.slice(i + 2, i + 5)), used: 4};
    return {value: null, used: codes.length};
}

export function plain() {
    return {fg: null, bg: null, bold: false, faint: false, italic: false, underline: false, strike: false, inverse: false};
}

function applySgr(look, params) {
    const codes = params.split(/[;:]/).slice(0, 32).map(x => x === "" ? 0 : /^\d{1,4}$/.test(x) ? Number(x) : -1);
    const next = {...look};
    for (let i = 0; i < codes.length; i++) {
        const c = codes[i];
        if (c === 0)
            Object.assign(next, plain());
        else if (c >= 30 && c <= 37 || c >= 90 && c <= 97)
            next.fg = c % 10;
        else if (c >= 40 && c <= 47 || c >= 100 && c <= 107)
            next.bg = c % 10;
        else if (c === 38 || c === 48) {
            const {value, used} = colour(codes, i);
            next[c === 38 ? "fg" : "bg"] = value;
            i += used;
        } else if (c === 39)
            next.fg = null;
        else if (c === 49)
            next.bg = null;
        else if (c === 22)
            next.bold = next.faint = false;
        else if (STYLES[c])
            next[STYLES[c][0]] = STYLES[c][1];
    }
    return next;
}

const STYLES = {1: ["bold", true], 2: ["faint", true], 3: ["italic", true], 4: ["underline", true], 7: ["inverse", true],
    9: ["strike", true], 23: ["italic", false], 24: ["underline", false], 27: ["inverse", false], 29: ["strike", false]};

// What a terminal would show of "1%\r50%\r100%": the last.
export function lastOfCarriage(text) {
    if (!text.includes("\r"))
        return text;
    const parts = text.split("\r").filter(x => x !== "");
    return parts.length ? parts[parts.length - 1] : "";
}

// [{text, look}] with look null where it is plain; control: true for a character made visible.
export function pieces(line) {
    const out = [];
    const text = lastOfCarriage(line);
    let look = null, run = "";
    const flush = () => {
        if (run)
            out.push({text: run, look});
        run = "";
    };
    for (let i = 0; i < text.length;) {
        const c = text.charCodeAt(i);
        if (c === 0x1b || c >= 0x80 && c <= 0x9f) {
            const {end, sgr} = sequenceEnd(text, i);
            if (sgr !== null && sgr !== undefined) {
                flush();
                look = applySgr(look || plain(), sgr);
                if (isPlain(look))
                    look = null;
            }
            i = end;
            continue;
        }
        if (c < 0x20 && c !== 9 || c === 0x7f || BIDI.test(text[i])) {
            flush();
            out.push({text: c < 0x20 ? String.fromCharCode(0x2400 + c) : c === 0x7f ? "\u2421" : "\ufffd", look, control: true});
            i++;
            continue;
        }
        run += text[i++];
    }
    flush();
    return out;
}

function isPlain(l) {
    return l.fg === null && l.bg === null && !l.bold && !l.faint && !l.italic && !l.underline && !l.strike && !l.inverse;
}

// The classes of style.css.
export function classes(look) {
    if (!look)
        return "";
    // Backgrounds are pale, so that the text on them may keep its own colour.
    const {fg, bg} = look.inverse ? {fg: look.bg, bg: look.fg === null ? "i" : look.fg} : look;
    return [fg !== null && fg !== undefined ? `fg${fg}` : "", bg !== null && bg !== undefined ? `bg${bg}` : "", look.bold ? "b" : "", look.faint ? "f" : "",
        look.italic ? "i" : "", look.underline ? "u" : "", look.strike ? "x" : ""].filter(x => x).join(" ");
}

// The text alone, for searches and for screen readers.
export function textOf(line) {
    return pieces(line).map(p => p.text).join("");
}

// squiggles.js - which text of a line a diagnostic is about: it says where that begins, as a compiler
// does; it ends where the word, the string or the line ends. Pure.

// Columns count characters from 1, strings count UTF-16 units.
function unitAt(line, column) {
    let at = 0, n = 1;
    for (const c of line) {
        if (n >= column)
            break;
        at += c.length;
        n++;
    }
    return at;
}

function endOf(line, from) {
    const first = line[from];
    if (first === "\"" || first === "'") {
        const to = line.indexOf(first, from + 1);
        return to < 0 ? line.length : to + 1;
    }
    const m = /^[^\s:,[\]{}#]+/.exec(line.slice(from));
    return m ? from + m[0].length : Math.min(line.length, from + 1);
}

// {before, text} of a diagnostic in the lines of a file; at least one character wide.
export function span(lines, d) {
    const line = lines[d.line - 1] || "";
    const from = Math.min(unitAt(line, d.column || 1), line.length);
    const text = line.slice(from, Math.max(endOf(line, from), from));
    return {before: line.slice(0, from), text: text || " "};
}

// The worst per line: {line: severity}
const RANK = {error: 3, warning: 2, note: 1};
export function worst(diagnostics) {
    const by = new Map();
    for (const d of diagnostics)
        if (!by.has(d.line) || RANK[by.get(d.line)] < RANK[d.severity])
            by.set(d.line, d.severity);
    return by;
}

// Where a line and column are in the whole text.
export function offset(text, line, column) {
    let at = 0;
    for (let i = 1; i < line; i++) {
        const next = text.indexOf("\n", at);
        if (next < 0)
            return text.length;
        at = next + 1;
    }
    const end = text.indexOf("\n", at);
    return at + unitAt(text.slice(at, end < 0 ? text.length : end), column || 1);
}

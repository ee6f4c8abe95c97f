// editor.js - a textarea with line numbers, flags and squiggles. Only lines with diagnostics are drawn below
// the text; the text itself stays the browser's own: selection, undo, spelling of keys, screen readers.
import {fill, h} from "./dom.js";
import {offset, span, worst} from "./squiggles.js";

const LINE = 19, PAD = 8;
const FLAGS = {error: "✕", warning: "▲", note: "●"};

// options: {label, describedby, onInput(text), onFile(file)}
export function editor(options) {
    const numbers = h("pre", {"aria-hidden": "true"});
    const flags = h("div", {"aria-hidden": "true"});
    const gutter = h("div", {class: "gutter"}, numbers, flags);
    const lines = h("div", {class: "lines", "aria-hidden": "true"});
    const text = h("textarea", {spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": options.label,
        "aria-describedby": options.describedby, placeholder: "Paste a job file or drop one here: muster/v1, Kubeflow, OpenPAI, Azure ML, T9k"});
    const box = h("div", {class: "editor"}, gutter, h("div", {class: "area"}, h("div", {class: "under"}, lines), text));
    let count = 0, diagnostics = [], marked = [];

    function number() {
        const n = text.value.split("\n").length;
        if (n === count)
            return;
        count = n;
        numbers.textContent = Array.from({length: n}, (_, i) => i + 1).join("\n");
    }

    function scroll() {
        const t = `translate(${-text.scrollLeft}px, ${-text.scrollTop}px)`;
        lines.style.transform = t;
        numbers.style.transform = flags.style.transform = `translateY(${-text.scrollTop}px)`;
    }

    function draw() {
        const all = text.value.split("\n");
        // Until the next answer only lines that are as they were keep their marks.
        const valid = diagnostics.filter((d, i) => all[d.line - 1] === marked[i]).slice(0, 500);
        fill(lines, valid.map(d => {
            const {before, text: under} = span(all, d);
            const el = h("div", {class: `sq sev-${d.severity}`}, before, h("u", null, under));
            el.style.top = `${PAD + (d.line - 1) * LINE}px`;
            return el;
        }));
        fill(flags, [...worst(valid)].map(([line, severity]) => {
            const el = h("span", {class: `flag sev-${severity}`}, FLAGS[severity]);
            el.style.top = `${PAD + (line - 1) * LINE}px`;
            return el;
        }));
        scroll();
    }

    text.addEventListener("input", () => {
        number();
        draw();
        options.onInput(text.value);
    });
    text.addEventListener("scroll", scroll);
    text.addEventListener("keydown", e => {
        // Tab leaves the field, as everywhere; two blanks are typed with Alt+Tab's neighbour, Ctrl+].
        if (e.ctrlKey && e.key === "]") {
            e.preventDefault();
            text.setRangeText("  ", text.selectionStart, text.selectionEnd, "end");
            text.dispatchEvent(new Event("input"));
        } else if (e.key === "Enter" && !e.ctrlKey && !e.metaKey) {
            const at = text.selectionStart, from = text.value.lastIndexOf("\n", at - 1) + 1;
            const indent = /^[ ]*/.exec(text.value.slice(from, at))[0];
            if (!indent)
                return;
            e.preventDefault();
            text.setRangeText(`\n${indent}`, at, text.selectionEnd, "end");
            text.dispatchEvent(new Event("input"));
        }
    });
    for (const type of ["dragenter", "dragover"])
        box.addEventListener(type, e => {
            e.preventDefault();
            box.classList.add("drop");
        });
    box.addEventListener("dragleave", e => e.target === box && box.classList.remove("drop"));
    box.addEventListener("drop", e => {
        e.preventDefault();
        box.classList.remove("drop");
        if (e.dataTransfer.files[0])
            options.onFile(e.dataTransfer.files[0]);
    });
    number();

    return {
        box, text,
        set(value) {
            text.value = value;
            number();
        },
        mark(list) {
            const all = text.value.split("\n");
            diagnostics = list;
            marked = list.map(d => all[d.line - 1]);
            draw();
        },
        go(d) {
            const at = offset(text.value, d.line, d.column);
            text.focus();
            text.setSelectionRange(at, at);
            text.scrollTop = Math.max(0, (d.line - 1) * LINE - text.clientHeight / 2);
            scroll();
        },
    };
}

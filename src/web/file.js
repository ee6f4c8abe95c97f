// file.js - the job file as it was submitted, with what validate says at the lines it is about.
import * as api from "./api.js";
import {fill, h} from "./dom.js";

export function open(root, ctx) {
    let closed = false;

    function show(a) {
        const notes = new Map();
        const list = a.validate && (a.validate.diagnostics || a.validate.files && a.validate.files[0].diagnostics) || [];
        for (const d of list)
            notes.set(d.line, [...(notes.get(d.line) || []), d]);
        const lines = a.text.replace(/\n$/, "").split("\n");
        fill(root, h("div", {class: "tools"}, h("h2", null, a.file), h("span", {class: "dim"}, ctx.report().job && ctx.report().job.dialect || ""), h("span", {class: "space"}),
            h("button", {onclick: () => {
                sessionStorage.setItem("draft", JSON.stringify({text: a.text, name: a.file}));
                location.hash = "#/submit";
            }}, "Edit and submit as a new job")),
        h("div", {class: "source", tabindex: "0", role: "region", "aria-label": a.file}, lines.map((l, i) => [
            h("div", {class: `ln ${notes.has(i + 1) ? "hit" : ""}`}, h("span", {class: "no"}, i + 1), h("span", {class: "tx"}, l)),
            (notes.get(i + 1) || []).map(d => h("div", {class: `note sev-${d.severity}`}, h("span", null, h("b", {class: `sev-${d.severity}`}, `${d.severity} ${d.code || ""} `), d.message,
                d.hint ? h("span", {class: "dim"}, ` (${d.hint})`) : null)))])));
    }

    api.get(`${ctx.url}/file`).then(a => !closed && show(a), e => {
        if (!closed)
            fill(root, h("p", {class: "empty"}, e.status === 404 ? "This job has no file: it was started from a command line." : e.message));
    });
    return {
        close() {
            closed = true;
        },
    };
}

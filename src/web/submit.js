// submit.js - paste or drop a job file, see what is wrong with it while typing and what would run, then run it; or run a command.
import * as api from "./api.js";
import {editor} from "./editor.js";
import {fill, h, later, say} from "./dom.js";
import {count, plural} from "./format.js";
import {jobHref} from "./jobs.js";
import {commandText, notesList} from "./plan.js";
import {stream} from "./stream.js";

const LARGEST = 1 << 20;
const VERDICTS = {accept: "accepted", reject: "rejected", unsupported: "not supported", notjob: "not a job file"};

// A line that only a shell understands goes to one; any other is the words it has.
export function argvOf(line, processes, hosts, jobName) {
    const plain = /^[\w@%+:,./ -]+$/.test(line);
    return ["-n", String(processes || 1), ...(hosts ? ["--hosts", String(hosts)] : []), ...(jobName ? ["--name", jobName] : []), "--",
        ...(plain ? line.trim().split(/ +/) : ["sh", "-c", line])];
}

export function open(root) {
    document.title = "Submit – Muster";
    let closed = false, asked = 0, name = "job.yaml", answer = null, cwd = "";
    let abort = null;

    // --- the left: the file ---

    const verdict = h("div", {class: "verdict-line", id: "verdict-line"}), list = h("div", {class: "diags", role: "group", "aria-label": "Diagnostics"});
    const ed = editor({label: "Job file", describedby: "verdict-line", onInput: () => {
        save();
        check();
    }, onFile: take});
    const file = h("input", {type: "file", class: "hidden-text", tabindex: "-1", "aria-label": "Job file", onchange: () => file.files[0] && take(file.files[0])});
    const pick = h("button", {onclick: () => file.click()}, "Open file");

    // --- options ---

    const fit = h("input", {type: "checkbox", onchange: () => check()});
    const sets = h("div", {class: "options"});
    const queue = h("select", {"aria-label": "Queue"}, h("option", {value: ""}, "Default queue"));
    const priority = h("input", {type: "number", placeholder: "50", "aria-label": "Priority", step: "1", min: "0", max: "100"});
    const dir = h("input", {type: "text", placeholder: "home directory", "aria-label": "Working directory of the submission", onchange: () => {
        cwd = dir.value.trim();
        check();
    }});
    const run = h("button", {class: "primary", disabled: true, onclick: () => submit()}, "Run");
    const error = h("p", {class: "bad", role: "alert", hidden: true});

    function addSet(value) {
        const input = h("input", {type: "text", placeholder: "spec.worker.replicas=2", "aria-label": "Set PATH=VALUE", value: value || "", oninput: later(() => check(), 300)});
        const line = h("div", {class: "line"}, h("code", null, "--set"), input, h("button", {class: "quiet", "aria-label": "Remove this --set", onclick: () => {
            line.remove();
            check();
        }}, "Remove"));
        sets.append(line);
        return input;
    }

    function options() {
        const out = fit.checked ? ["--fit"] : [];
        for (const input of sets.querySelectorAll("input"))
            if (input.value.trim())
                out.push("--set", input.value.trim());
        return out;
    }

    // --- a command instead of a file ---

    let commands = sessionStorage.getItem("submit") === "command";
    const line = h("input", {type: "text", placeholder: "python train.py --lr 0.1", "aria-label": "Command", class: "command", spellcheck: "false", autocapitalize: "off", oninput: () => drawCommand(),
        onkeydown: e => e.key === "Enter" && !run.disabled && submit()});
    const number = (label, placeholder) => h("input", {type: "number", placeholder, "aria-label": label, step: "1", min: "1", oninput: () => drawCommand()});
    const processesOf = number("Processes", "1"), hosts = number("Replicas", "1"), jobName = h("input", {type: "text", placeholder: "the program's", "aria-label": "Name of the job", oninput: () => drawCommand()});
    const command = h("div", {class: "options"}, h("div", {class: "line"}, line),
        h("div", {class: "line"}, h("label", {class: "check"}, "Processes", processesOf), h("label", {class: "check"}, "Replicas", hosts), h("label", {class: "check"}, "Name", jobName)));
    const argv = () => argvOf(line.value, processesOf.value, hosts.value, jobName.value.trim());

    function drawCommand() {
        const n = Number(processesOf.value || 1);
        run.disabled = !line.value.trim();
        fill(explain, run.disabled ? h("p", {class: "dim"}, "What would run is shown here.") : [h("p", {class: "dim"}, plural(n, "process", "processes"), " of"),
            h("pre", {class: "block", tabindex: "0"}, argv().slice(argv().indexOf("--") + 1).join(" ")), h("p", {class: "dim"}, `in ${cwd || "the home directory"}`)]);
    }

    const modes = [["file", "Job file"], ["command", "Command"]].map(([id, label]) => h("button", {class: "chip", "aria-pressed": "false", data: {mode: id}, onclick: () => setMode(id === "command")}, label));

    function setMode(on) {
        commands = on;
        sessionStorage.setItem("submit", on ? "command" : "file");
        for (const b of modes)
            b.setAttribute("aria-pressed", String((b.dataset.mode === "command") === on));
        command.hidden = !on;
        for (const x of [ed.box, verdict, list, pick, ofFile, sets])
            x.hidden = on;
        error.hidden = true;
        if (on)
            drawCommand();
        else
            checkNow();
    }

    const explain = h("div", {class: "explain"});
    const ofFile = h("div", {class: "line"}, h("label", {class: "check", title: "shrink the job until it fits this machine"}, fit, h("code", null, "--fit"), " shrink to this machine"),
        h("button", {onclick: () => addSet().focus()}, "Add --set"));
    fill(root, h("div", {class: "tools"}, h("h1", null, "Submit a job"), h("div", {class: "chips", role: "group", "aria-label": "What to submit"}, modes), h("span", {class: "space"}), file, pick),
        h("div", {class: "submit"},
            h("div", null, ed.box, verdict, list, command),
            h("div", null,
                h("div", {class: "options"},
                    ofFile, sets,
                    h("div", {class: "line"}, queue, h("label", {class: "check"}, "Priority", priority), h("label", {class: "check"}, "Directory", dir)),
                    h("div", {class: "line"}, run), error),
                h("section", {"aria-label": "What would run"}, explain))));

    // --- the file ---

    async function take(f) {
        if (f.size > LARGEST) {
            fill(verdict, h("span", {class: "bad"}, `${f.name} is larger than 1 MiB`));
            return;
        }
        name = f.name;
        ed.set(await f.text());
        save();
        check.now();
    }

    // A text that replaced a dropped JSON file is not read as JSON.
    function itsName() {
        return /\.json$/i.test(name) && !/^\s*(\{|\/[/*])/.test(ed.text.value) ? "job.yaml" : name;
    }

    function save() {
        sessionStorage.setItem("draft", JSON.stringify({text: ed.text.value, name}));
    }

    function drawDiagnostics() {
        const ds = answer ? answer.diagnostics || [] : [];
        ed.mark(ds);
        const n = s => ds.filter(d => d.severity === s).length;
        fill(verdict, !answer ? h("span", {class: "dim"}, "Diagnostics appear while you type.") : [
            h("b", {class: answer.verdict === "accept" ? "s-succeeded" : "bad"}, VERDICTS[answer.verdict] || answer.verdict), answer.dialect ? h("span", null, answer.dialect) : null,
            ["error", "warning", "note"].filter(n).map(s => h("span", {class: `sev-${s}`}, plural(n(s), s)))]);
        fill(list, ds.slice(0, 300).map(d => h("button", {onclick: () => ed.go(d)}, h("span", {class: "num dim"}, `${d.line}:${d.column}`),
            h("span", {class: `code sev-${d.severity}`, title: d.severity}, d.code || d.severity),
            h("span", null, h("span", {class: "hidden-text"}, `${d.severity}: `), d.message, d.hint ? h("span", {class: "hint"}, d.hint) : null))));
    }

    function drawExplain(a) {
        const said = new Set((a.changes || []).map(c => typeof c === "string" ? c : c.message));
        fill(explain, (a.changes || []).length ? [h("h2", null, "Changed by options"), h("ul", {class: "notes"}, [...said].map(c =>
            h("li", null, h("span", {class: "sev-note"}, "change"), h("span", null, c))))] : null,
        (a.jobs || []).map(j => [h("h2", null, j.name), h("p", {class: "dim"}, `${j.dialect}, framework ${j.framework}, isolation ${j.isolation}`),
            h("p", null, (j.roles || []).map(r => `${r.name}: ${plural(r.replicas, "replica")}${typeof r.slots === "number" && r.slots > 1 ? ` of ${r.slots} slots` : ""}`).join(" · ")),
            notesList((j.notes || []).filter(n => !said.has(n.message))), processes(j)]));
    }

    function processes(j) {
        // Processes with one command are told once.
        const by = new Map();
        for (const p of j.processes || []) {
            const k = JSON.stringify([p.role, p.argv, p.shell, p.workdir]);
            by.set(k, [...(by.get(k) || []), p]);
        }
        return [...by.values()].slice(0, 12).map(ps => h("div", {class: "proc"}, h("b", null, ps.length === 1 ? ps[0].replica : `${ps[0].role}: ${count(ps.length)} processes`),
            h("span", {class: "dim"}, ` in ${ps[0].workdir || "?"}`), h("pre", {class: "block", tabindex: "0"}, commandText(ps[0]) || "waits; the launcher starts ranks in it")));
    }

    async function checkNow() {
        if (commands) {
            drawCommand();
            return;
        }
        const mine = ++asked, text = ed.text.value;
        if (abort)
            abort.abort();
        abort = new AbortController();
        if (!text.trim()) {
            answer = null;
            run.disabled = true;
            drawDiagnostics();
            fill(explain, h("p", {class: "dim"}, "What would run is shown here."));
            return;
        }
        try {
            const a = await api.post("/validate", {text, name: itsName()}, abort.signal);
            if (mine !== asked || closed || commands)
                return;
            const was = answer && answer.verdict;
            answer = a.files ? a.files[0] : a;
            run.disabled = answer.verdict !== "accept";
            drawDiagnostics();
            if (was !== answer.verdict)
                say(`${VERDICTS[answer.verdict] || answer.verdict}, ${plural((answer.diagnostics || []).length, "diagnostic")}`);
            if (answer.verdict !== "accept") {
                fill(explain, h("p", {class: "dim"}, "What would run is shown when the file is accepted."));
                return;
            }
            const e = await api.post("/explain", {text, name: itsName(), options: options(), cwd: cwd || null}, abort.signal);
            if (mine === asked && !closed && !commands)
                drawExplain(e);
        } catch (e) {
            if (mine !== asked || closed || e.name === "AbortError" || e.status === 401)
                return;
            if (answer && answer.verdict === "accept")
                fill(explain, h("p", {class: "bad"}, e.message), e.hint ? h("p", {class: "dim"}, e.hint) : null,
                    (e.diagnostics || []).map(d => h("p", {class: `sev-${d.severity}`}, `${d.severity} ${d.code}: ${d.message}`)));
            else
                fill(verdict, h("span", {class: "bad"}, e.message));
        }
    }

    const check = later(checkNow, 250);
    check.now = checkNow;

    async function submit() {
        run.disabled = true;
        error.hidden = true;
        try {
            const what = commands ? {argv: argv()} : {text: ed.text.value, name: itsName(), options: options()};
            const a = await api.post("/jobs", {...what, queue: queue.value || null, priority: priority.value === "" ? null : Number(priority.value), cwd: cwd || null});
            if (!commands)
                sessionStorage.removeItem("draft");
            location.hash = a.ids.length === 1 ? jobHref(a.ids[0]) : "#/jobs";
        } catch (e) {
            error.textContent = e.hint ? `${e.message} (${e.hint})` : e.message;
            error.hidden = false;
            run.disabled = false;
            if (e.diagnostics && !commands) {
                answer = {verdict: "reject", dialect: answer && answer.dialect, diagnostics: e.diagnostics};
                drawDiagnostics();
            }
        }
    }

    const draft = (() => {
        try {
            return JSON.parse(sessionStorage.getItem("draft"));
        } catch {
            return null;
        }
    })();
    if (draft) {
        ed.set(draft.text || "");
        name = draft.name || name;
    }
    setMode(commands);
    api.get("/queue").then(q => {
        for (const x of q.queues || [])
            queue.append(h("option", {value: x.name}, x.name));
        queue.hidden = (q.queues || []).length < 2;
    }, () => {});
    const beat = stream({}, {});

    return {
        close() {
            closed = true;
            check.stop();
            beat.close();
        },
    };
}

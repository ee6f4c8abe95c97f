// events.js - everything that happened to the job, newest last.
import {fill, h} from "./dom.js";
import {clock, count, full} from "./format.js";

const MOST = 2000;

export function open(root, ctx) {
    let drawn = -1;
    const body = h("tbody"), head = h("p", {class: "dim"});
    fill(root, h("section", {class: "part"}, head, h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Events"}, h("table", {class: "events"}, h("caption", {class: "hidden-text"}, "Events"),
        h("thead", null, h("tr", null, ["Time", "Event", "Of", "Attempt", ""].map(t => h("th", {scope: "col"}, t)))), body))));

    function draw() {
        const list = ctx.events();
        if (list.length === drawn)
            return;
        drawn = list.length;
        head.textContent = list.length > MOST ? `The last ${count(MOST)} of ${count(list.length)} events` : list.length ? "" : "Nothing happened yet.";
        fill(body, list.slice(-MOST).map(e => h("tr", null, h("td", {class: "at num", title: full(e.at)}, clock(e.at, true)), h("td", {class: /^(exited|lost|ended|stop)/.test(e.type) ? "b" : null}, e.type),
            h("td", null, e.rank !== null && e.rank !== undefined ? `${e.replica || ""}/${e.rank}` : e.replica || ""), h("td", {class: "num"}, e.attempt || ""), h("td", null, e.message || ""))));
    }

    draw();
    return {changed: draw, close() {}};
}

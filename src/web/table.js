// table.js - a table that sorts by its heads and shows 200 rows at a time.
import {fill, h} from "./dom.js";
import {count} from "./format.js";

const PAGE = 200;

// columns: [{id, label, num, value(row) for sorting, cell(row)}]; options: {caption, rowClass, onRow}
export function sortTable(box, columns, options) {
    let rows = [], sort = null, down = false, from = 0;
    const head = h("tr");
    const body = h("tbody");
    const foot = h("div", {class: "pages"});
    fill(box, h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": options.caption},
        h("table", {class: options.class}, h("caption", {class: "hidden-text"}, options.caption), h("thead", null, head), body)), foot);

    function sorted() {
        if (!sort)
            return rows;
        const value = columns.find(c => c.id === sort).value;
        const sign = down ? -1 : 1;
        return [...rows].sort((a, b) => {
            const x = value(a), y = value(b);
            const nox = x === null || x === undefined || x === "", noy = y === null || y === undefined || y === "";
            if (nox || noy)
                return nox - noy;
            return (typeof x === "string" ? x.localeCompare(y, "en", {numeric: true}) : x - y) * sign;
        });
    }

    function drawHead(shown) {
        fill(head, shown.map(c => h("th", {scope: "col", class: c.num ? "num" : null,
            "aria-sort": sort === c.id ? (down ? "descending" : "ascending") : null},
        c.value ? h("button", {data: {column: c.id}, onclick: () => {
            if (sort === c.id && down === !!c.num)
                down = !down;
            else if (sort === c.id)
                sort = null;
            else {
                sort = c.id;
                down = !!c.num;
            }
            from = 0;
            draw();
            head.querySelector(`[data-column="${c.id}"]`)?.focus();
        }}, c.label) : c.label)));
    }

    function draw() {
        const shown = columns.filter(c => !c.only || c.only(rows));
        if (!head.contains(document.activeElement))
            drawHead(shown);
        else if (head.children.length !== shown.length || head.dataset.sort !== `${sort}${down}`)
            drawHead(shown);
        head.dataset.sort = `${sort}${down}`;
        const list = sorted();
        from = Math.min(from, Math.max(0, Math.floor((list.length - 1) / PAGE) * PAGE));
        const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.key : null;
        fill(body, list.slice(from, from + PAGE).map(r => h("tr", {class: options.rowClass ? options.rowClass(r) : null, data: {key: options.key(r)}},
            shown.map(c => h("td", {class: `${c.num ? "num" : ""} ${c.class || ""}`}, c.cell(r))))));
        if (focused)
            Array.from(body.rows).find(t => t.dataset.key === focused)?.querySelector("a, button")?.focus();
        const turn = (to, text, off) => h("button", {disabled: off, onclick: () => {
            from = to;
            draw();
        }}, text);
        fill(foot, list.length > PAGE ? [h("span", {class: "num"}, `${count(from + 1)}–${count(Math.min(from + PAGE, list.length))} of ${count(list.length)}`),
            turn(from - PAGE, "Previous", from === 0), turn(from + PAGE, "Next", from + PAGE >= list.length)] : null);
    }

    return {
        set(list) {
            rows = list;
            draw();
        },
        // Turns to the page that has the row and marks it.
        reveal(key) {
            const i = sorted().findIndex(r => options.key(r) === key);
            if (i < 0)
                return;
            from = Math.floor(i / PAGE) * PAGE;
            draw();
            for (const tr of body.rows)
                if (tr.dataset.key === key) {
                    tr.setAttribute("aria-selected", "true");
                    tr.scrollIntoView({block: "nearest"});
                } else {
                    tr.removeAttribute("aria-selected");
                }
        },
    };
}

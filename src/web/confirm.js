// confirm.js - a question before something is done to a job. What goes wrong is shown in the dialog.
import {h} from "./dom.js";

// options: {title, text, action, danger, extra: element, run(): promise}
export function confirm(options) {
    const error = h("p", {class: "error", role: "alert", hidden: true});
    const act = h("button", {class: options.danger ? "danger" : "primary", type: "submit"}, options.action);
    const form = h("form", {onsubmit: async e => {
        e.preventDefault();
        act.disabled = true;
        error.hidden = true;
        try {
            await options.run();
            d.close();
        } catch (x) {
            error.textContent = x.hint ? `${x.message} (${x.hint})` : x.message;
            error.hidden = false;
            act.disabled = false;
        }
    }}, h("h2", null, options.title), options.text ? h("p", null, options.text) : null, options.extra || null, error,
    h("div", {class: "row"}, h("button", {type: "button", autofocus: true, onclick: () => d.close()}, "Back"), act));
    const d = h("dialog", {"aria-label": options.title, onclose: () => d.remove()}, form);
    document.body.append(d);
    d.showModal();
}

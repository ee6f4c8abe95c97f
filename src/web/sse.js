// sse.js - the text of server-sent events, in pieces as they arrive. Pure.

const LONGEST = 8 << 20; // an event that is longer is a broken server

export class EventText {
    constructor() {
        this.rest = "";
        this.reset();
    }

    reset() {
        this.type = "";
        this.data = [];
        this.id = null;
    }

    // Returns the events that `text` completes: {type, data, id}.
    feed(text) {
        const events = [];
        this.rest += text;
        let from = 0;
        for (;;) {
            const end = this.rest.indexOf("\n", from);
            if (end < 0)
                break;
            let line = this.rest.slice(from, end);
            from = end + 1;
            if (line.endsWith("\r"))
                line = line.slice(0, -1);
            if (line === "") {
                if (this.data.length > 0 || this.id !== null)
                    events.push({type: this.type || "message", data: this.data.join("\n"), id: this.id});
                this.reset();
                continue;
            }
            this.line(line);
        }
        this.rest = this.rest.slice(from);
        if (this.rest.length > LONGEST)
            throw new Error("event too long");
        return events;
    }

    line(line) {
        const colon = line.indexOf(":");
        if (colon === 0)
            return;
        const field = colon < 0 ? line : line.slice(0, colon);
        let value = colon < 0 ? "" : line.slice(colon + 1);
        if (value.startsWith(" "))
            value = value.slice(1);
        if (field === "event")
            this.type = value;
        else if (field === "data")
            this.data.push(value);
        else if (field === "id")
            this.id = value;
    }
}

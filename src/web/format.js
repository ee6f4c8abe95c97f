// format.js - numbers and times as people write them. Pure: no document, no clock of its own.

export function plural(n, one, many) {
    return `${count(n)} ${n === 1 ? one : many || one + "s"}`;
}

export function count(n) {
    return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// 534 ms, 2.5 s, 42 s, 3 min 05 s, 2 h 14 min, 3 d 4 h
export function duration(ms) {
    if (!(ms >= 0))
        return "";
    if (ms < 1000)
        return `${Math.round(ms)} ms`;
    const s = ms / 1000;
    if (s < 10)
        return `${(Math.floor(s * 10) / 10).toFixed(1)} s`;
    if (s < 60)
        return `${Math.floor(s)} s`;
    const min = Math.floor(s / 60);
    if (min < 60)
        return `${min} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
    const h = Math.floor(min / 60);
    if (h < 48)
        return `${h} h ${String(min % 60).padStart(2, "0")} min`;
    return `${Math.floor(h / 24)} d ${h % 24} h`;
}

export function bytes(n) {
    if (!(n >= 0))
        return "";
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let i = 0;
    while (n >= 1024 && i < units.length - 1) {
        n /= 1024;
        i++;
    }
    return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

export function percent(n) {
    return n >= 0 ? `${n >= 10 ? Math.round(n) : Math.round(n * 10) / 10} %` : "";
}

const two = n => String(n).padStart(2, "0");

// 14:01:15, or with milliseconds
export function clock(at, ms) {
    const d = new Date(at);
    if (!at || isNaN(d))
        return "";
    return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}` +
        (ms ? `.${String(d.getMilliseconds()).padStart(3, "0")}` : "");
}

export function day(at) {
    const d = new Date(at);
    return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

// The time of today, else the day as well.
export function when(at, now) {
    if (!at)
        return "";
    return day(at) === day(now) ? clock(at) : `${day(at)} ${clock(at).slice(0, 5)}`;
}

export function full(at) {
    return at ? `${day(at)} ${clock(at, true)}` : "";
}

// 0,1,2,5,7,8 as "0–2, 5, 7–8"; at most `most` parts.
export function ranges(numbers, most = 8) {
    const parts = [];
    const sorted = [...numbers].sort((a, b) => a - b);
    for (let i = 0; i < sorted.length;) {
        let j = i;
        while (j + 1 < sorted.length && sorted[j + 1] <= sorted[j] + 1)
            j++;
        parts.push(j === i ? `${sorted[i]}` : `${sorted[i]}–${sorted[j]}`);
        i = j + 1;
    }
    if (parts.length > most)
        return parts.slice(0, most).join(", ") + ", …";
    return parts.join(", ");
}

// A shell would read it as one word.
export function shellWord(word) {
    return /^[A-Za-z0-9_@%+=:,./^-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

export function exitWords(end) {
    if (end.signal)
        return end.signal;
    return end.exit_code === null || end.exit_code === undefined ? "" : String(end.exit_code);
}

// rankmap_layout.js - where each rank is on the map: a cell per rank, in order, in blocks per replica.
// Pure.

export function cellSize(n) {
    return n <= 64 ? 22 : n <= 256 ? 16 : n <= 1024 ? 12 : n <= 2500 ? 10 : 8;
}

// ranks: [{rank, replica}] in order. {cell, gap, columns, width, height, at: [{x, y}], rows: [{y, first}]}
// Rows are of equal length: with replicas of equal size a replica is not broken if a row can have it whole.
export function mapLayout(ranks, width, label) {
    const n = ranks.length;
    const cell = cellSize(n), pitch = cell + 1, gap = n > 1024 ? 2 : 4;
    const per = blockSize(ranks);
    const room = Math.max(pitch, width - label);
    const blocks = Math.max(1, Math.floor((room + gap) / (per * pitch + gap)));
    const broken = per * pitch > room;
    // A power of two per row lets eyes count.
    const even = broken ? 1 : blocks >= 2 ? 2 ** Math.floor(Math.log2(blocks)) : 1;
    const perRow = broken ? Math.floor(room / pitch) : even * per;
    const at = [], rows = [];
    for (let i = 0; i < n; i++) {
        const row = Math.floor(i / perRow), column = i % perRow;
        const y = row * (pitch + (n > 1024 ? 0 : 1));
        if (column === 0)
            rows.push({y, first: ranks[i].rank});
        at.push({x: label + column * pitch + (broken ? 0 : Math.floor(column / per) * gap), y});
    }
    const lastY = rows.length ? rows[rows.length - 1].y : 0;
    const used = Math.min(n, perRow);
    return {cell, pitch, perRow, at, rows, width: label + used * pitch + (broken ? 0 : Math.floor((used - 1) / per) * gap), height: lastY + pitch};
}

function blockSize(ranks) {
    if (!ranks.length)
        return 1;
    let n = 0;
    while (n < ranks.length && ranks[n].replica === ranks[0].replica)
        n++;
    return n;
}

// The index of the cell at a point, or -1.
export function hit(map, x, y) {
    // Rows have one height, columns are few hundred: a search along the row is enough.
    const rowHeight = map.rows.length > 1 ? map.rows[1].y - map.rows[0].y : map.pitch;
    const row = Math.floor(y / rowHeight);
    if (row < 0 || row >= map.rows.length)
        return -1;
    for (let i = row * map.perRow; i < Math.min(map.at.length, (row + 1) * map.perRow); i++)
        if (x >= map.at[i].x && x < map.at[i].x + map.pitch)
            return i;
    return -1;
}

export function move(map, i, key) {
    const n = map.at.length;
    const to = {ArrowLeft: i - 1, ArrowRight: i + 1, ArrowUp: i - map.perRow, ArrowDown: i + map.perRow, Home: 0, End: n - 1}[key];
    if (to === undefined)
        return null;
    return to >= 0 && to < n ? to : i;
}

/* usage_log.c - see usage_log.h. */
#include "inspect/usage_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "doc/json.h"

#define FIRST_LOOKS 120 /* a second apart; later ones are a 120th of the run's age apart */
#define MANY_ROWS 64    /* with more of them the pauses are longer */

void usage_log_begin(struct usage_log *log, const char *run_id, int run_fd, ns_t now, ns_t age)
{
    *log = (struct usage_log){
        .run_id = run_id, .run_fd = run_fd, .began = now - age, .next = now + NS_PER_S};
}

static ns_t pause_after(const struct usage_log *log, ns_t now, size_t rows)
{
    ns_t pause = (now - log->began) / FIRST_LOOKS;

    if (rows > MANY_ROWS)
        pause = pause * (ns_t)rows / MANY_ROWS;
    return pause > NS_PER_S ? pause : NS_PER_S;
}

static void write_row(struct json *j, const struct usage_row *r)
{
    json_array(j);
    json_str(j, r->replica);
    if (r->rank >= 0)
        json_int(j, r->rank);
    else
        json_null(j);
    json_int(j, (int64_t)r->cpu_ms);
    json_int(j, (int64_t)r->memory);
    json_int(j, (int64_t)r->read);
    json_int(j, (int64_t)r->written);
    json_end(j);
}

/* Opened for each line: they are rare, and a daemon may have many runs. Half a line (disk full) is
 * taken back, so that the next one can be read. */
static void append(struct usage_log *log, const struct strbuf *line)
{
    auto_close int fd =
        io_open_regular(log->run_fd, RUNDIR_USAGE, O_WRONLY | O_APPEND | O_CREAT, 0600);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size + (off_t)line->len > LIMIT_USAGE_BYTES)
        return;
    if (io_write_all(fd, line->buf, line->len) < 0 && ftruncate(fd, st.st_size) < 0)
        return; /* whoever reads it skips the half */
}

void usage_log_add(struct usage_log *log, const struct usage *u, ns_t now)
{
    const struct usage_row *rows;
    size_t n = usage_rows_of(u, log->run_id, &rows);
    auto_strbuf struct strbuf line = STRBUF_INIT;
    struct json j = JSON_COMPACT(&line);

    if (now < log->next)
        return;
    log->next = now + pause_after(log, now, n);
    json_object(&j);
    json_kv_int(&j, "ms", (now - log->began) / NS_PER_MS);
    json_key(&j, "of");
    json_array(&j);
    for (size_t i = 0; i < n; i++)
        write_row(&j, &rows[i]);
    json_end(&j);
    json_end(&j);
    strbuf_addch(&line, '\n');
    if (n > 0)
        append(log, &line);
}

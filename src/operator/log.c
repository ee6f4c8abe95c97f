/* log.c - the operator's log: one line of JSON on stderr for each thing that happened. */
#include <stdarg.h>
#include <stdio.h>

#include "doc/json.h"
#include "operator/operator.h"

void tell(const struct tended *t, const char *level, const char *fmt, ...)
{
    auto_strbuf struct strbuf line = STRBUF_INIT, text = STRBUF_INIT;
    struct json j = JSON_COMPACT(&line);
    char now[CLOCK_TEXT];
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    json_object(&j);
    json_kv_str(&j, "time", clock_rfc3339(clock_real(), now));
    json_kv_str(&j, "level", level);
    if (t)
        json_kv_str(&j, "job", t->key);
    json_kv_str(&j, "text", text.buf);
    json_end(&j);
    strbuf_addch(&line, '\n');
    fputs(line.buf, stderr);
}

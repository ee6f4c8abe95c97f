/* protocol.c - see protocol.h. */
#include "client/protocol.h"

#include "doc/json.h"

void protocol_accept(struct strbuf *head)
{
    struct json j = JSON_COMPACT(head);

    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_bool(&j, "ok", true);
    json_end(&j);
}

void protocol_refuse(struct strbuf *head, const char *fmt, va_list ap)
{
    auto_strbuf struct strbuf text = STRBUF_INIT;
    struct json j = JSON_COMPACT(head);

    strbuf_vaddf(&text, fmt, ap);
    json_object(&j);
    json_kv_int(&j, "version", CONTROL_VERSION);
    json_kv_bool(&j, "ok", false);
    json_kv_str(&j, "error", text.buf);
    json_end(&j);
}

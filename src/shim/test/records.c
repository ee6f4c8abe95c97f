/* records.c - what is written of ranks, from what is heard of them. */
#include "shim/records.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/tap.h"

#define S NS_PER_S

static struct record *begin(struct records *r, uint32_t rank, uint32_t size, const char *launch,
                            ns_t now)
{
    return records_begin(r,
                         &(struct record_rank){rank, size, launch, "host-1.domain",
                                               strcmp(launch, "b") == 0 ? 2 : 1},
                         now);
}

static void end(struct records *r, struct record *k, int code, ns_t now)
{
    records_end(r, k, &(struct record_end){.status = code << 8}, now);
}

static void written(const struct records *r, ns_t now, const char *want, const char *name)
{
    auto_strbuf struct strbuf got = STRBUF_INIT;

    records_write(r, now, &got);
    is_str(got.buf ? got.buf : "", want, "%s", name);
}

static void test_one(void)
{
    struct records *r = records_new();
    struct record *k[4];

    written(r, S, "", "no rank");
    for (uint32_t i = 0; i < 4; i++)
        k[i] = begin(r, i, 4, "a", S);
    records_told(k[1]);
    end(r, k[3], 7, 2 * S);
    end(r, k[0], 0, 2 * S);
    records_lost(r, k[1], 2 * S);
    records_end(r, k[2], &(struct record_end){.status = 9, .told = true}, 3 * S);
    written(
        r, 4 * S,
        "muster-ranks: {\"launches\":[{\"size\":4,\"program\":1,\"began\":3000,\"over\":1000,"
        "\"ok\":1,\"failed\":1,\"stopped\":2,\"lost\":0,\"first\":[{\"rank\":3,\"host\":\"host-1"
        "\",\"ago\":2000,\"code\":7}]}]}",
        "one failed, and the others were told to end");
    records_free(r);
}

static void test_ways(void)
{
    struct records *r = records_new();
    auto_strbuf struct strbuf got = STRBUF_INIT;

    ok(!begin(r, 4, 4, "a", S) && !begin(r, 0, 0, "a", S), "a rank that cannot be is none");
    records_end(r, begin(r, 0, 9, "a", S), &(struct record_end){.status = 9, .oom = true}, S);
    records_end(r, begin(r, 1, 9, "a", S),
                &(struct record_end){.status = 127 << 8, .exec_error = -2}, S);
    records_lost(r, begin(r, 2, 9, "a", S), S);
    end(r, begin(r, 3, 9, "a", S), 1, S);
    end(r, begin(r, 4, 9, "a", S), 1, S);
    records_write(r, S, &got);
    ok(strstr(got.buf, "{\"rank\":0,\"host\":\"host-1\",\"ago\":0,\"signal\":9,\"oom\":true}"),
       "out of memory");
    ok(strstr(got.buf, "{\"rank\":1,\"host\":\"host-1\",\"ago\":0,\"exec\":2,\"code\":127}"),
       "not executed");
    ok(strstr(got.buf, "{\"rank\":2,\"host\":\"host-1\",\"ago\":0}"), "nobody can say");
    ok(strstr(got.buf, "\"rank\":3") && !strstr(got.buf, "\"rank\":4"), "the first four");
    ok(strstr(got.buf, "\"failed\":4"), "all of them are counted");
    records_free(r);
}

/* Which calls of mpirun are told. */
static void test_launches(void)
{
    struct records *r = records_new();
    auto_strbuf struct strbuf got = STRBUF_INIT;
    struct record *k;

    end(r, begin(r, 0, 2, "a", S), 3, 2 * S);
    end(r, begin(r, 0, 2, "c", 3 * S), 4, 4 * S);
    end(r, begin(r, 0, 1, "b", 5 * S), 0, 6 * S);
    k = begin(r, 0, 1, "d", 7 * S);
    written(
        r, 8 * S,
        "muster-ranks: {\"launches\":[{\"size\":1,\"program\":1,\"began\":1000,\"over\":0,\"ok\""
        ":0,\"failed\":0,\"stopped\":0,\"lost\":0,\"first\":[]}]}",
        "the last one, of a program that failed before");
    end(r, k, 5, 8 * S);
    end(r, begin(r, 0, 1, "b", 9 * S), 0, 9 * S);
    for (unsigned i = 0; i < 3 * LIMIT_RECORD_LAUNCHES; i++) {
        struct record_rank rank = {i, 100, "x", "h", 100 + (int64_t)i};
        auto_free char *id = xasprintf("x%u", i);

        rank.launch = id;
        for (uint32_t n = 0; n < 6; n++) {
            rank.rank = n;
            end(r, records_begin(r, &rank, 10 * S), 1, 11 * S);
        }
    }
    records_write(r, 12 * S, &got);
    ok(got.len <= LIMIT_RECORD_BYTES, "many fit into the message");
    ok(strstr(got.buf, "\"program\":123"), "the last of them is there");
    records_free(r);
}

static void test_hosts(void)
{
    struct records *r = records_new();
    auto_strbuf struct strbuf got = STRBUF_INIT;

    end(r, records_begin(r, &(struct record_rank){0, 1, "a", "x\"},\n{", 0}, S), 1, S);
    records_write(r, S, &got);
    ok(strstr(got.buf, "\"host\":\"x?????\""), "a host's name needs no escape");
    records_free(r);
}

int main(void)
{
    test_one();
    test_ways();
    test_launches();
    test_hosts();
    return tap_done();
}

/* nothing.c - an engine for jobs of which nothing runs: cancelled before their start, or lost. */
#include "base/mem.h"
#include "daemon/parts.h"

struct nothing {
    struct engine engine;
    const struct engine_client *client;
};

static void no_replica(struct engine *en, uint32_t replica, uint32_t attempt)
{
    (void)en;
    (void)replica;
    (void)attempt;
}

static void no_start(struct engine *en, uint32_t process, struct start start)
{
    (void)en;
    (void)process;
    (void)start;
}

static void no_number(struct engine *en, int number)
{
    (void)en;
    (void)number;
}

static void no_role(struct engine *en, uint32_t role)
{
    (void)en;
    (void)role;
}

static void do_nothing(struct engine *en)
{
    (void)en;
}

static void release(struct engine *en)
{
    const struct nothing *no = (struct nothing *)en;

    no->client->released(no->client->ctx);
}

static void free_nothing(struct engine *en)
{
    free(en);
}

static int no_log(struct engine *en, const char *name)
{
    (void)en;
    (void)name;
    return -ENOENT;
}

static int open_nothing(const struct engine_open *how, struct engine **ret, struct err *e)
{
    static const struct engine_ops ops = {.open = no_replica,
                                          .start = no_start,
                                          .signal = no_number,
                                          .kill = do_nothing,
                                          .kill_role = no_role,
                                          .hold = do_nothing,
                                          .clear = do_nothing,
                                          .release = release,
                                          .free = free_nothing,
                                          .log_open = no_log};
    struct nothing *no = xcalloc(1, sizeof(*no));

    (void)e;
    no->engine.ops = &ops;
    no->client = how->client;
    *ret = &no->engine;
    return 0;
}

const struct engine_class engine_nothing = {.name = "local", .open = open_nothing};

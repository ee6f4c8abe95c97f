/* starts.c - processes that are to be started, in the order in which they were asked for.
 *
 * A frame has the whole environment of its process, and the shim starts one process after the other
 * while it reads. So frames are made when there is room for them: a job of 64,000 ranks costs a
 * number each here, and what was not sent when the job is cancelled is not started.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/frames.h"
#include "engine/local/parts.h"

/* A process is in it once: whoever asks for a start looks at starts[] first. */
void starts_add(struct local *lo, uint32_t process)
{
    if (!lo->queue) {
        lo->queue_cap = lo->plan->n_processes;
        lo->queue = xcalloc(lo->queue_cap, sizeof(*lo->queue));
    }
    if (lo->queue_n < lo->queue_cap)
        lo->queue[(lo->queue_first + lo->queue_n++) % lo->queue_cap] = process;
}

static uint32_t take(struct local *lo)
{
    uint32_t process = lo->queue[lo->queue_first];

    lo->queue_first = (lo->queue_first + 1) % lo->queue_cap;
    lo->queue_n--;
    return process;
}

bool starts_fill(struct local *lo)
{
    bool any = false;

    while (lo->queue_n > 0 && is_live(lo) && lo->out.len < LIMIT_STARTS_SENT) {
        uint32_t process = take(lo);

        frame_spawn(&lo->out, lo->plan, process, lo->starts[process], NULL);
        any = true;
    }
    return any;
}

void starts_drop(struct local *lo)
{
    struct observation o = {
        .kind = OBS_SPAWN_FAILED, .at = clock_run(), .attempt = lo->next, .end = ENDING_UNKNOWN};

    o.end.exec_errno = ENDING_NOT_STARTED;
    while (lo->queue_n > 0) {
        o.process = take(lo);
        o.instance = lo->starts[o.process].instance;
        lo->client->observed(lo->client->ctx, &o);
    }
}

/* setup.h - frames of shim/wire.h that only a shim on this machine gets. */
#ifndef ENGINE_LOCAL_SETUP_H
#define ENGINE_LOCAL_SETUP_H

#include "base/strbuf.h"
#include "job/job.h"

void frame_setup(struct strbuf *out, const struct plan *plan, bool waits, uint32_t attempt);
/* One init command, in place of the processes of its replica that wait for it. */
void frame_init(struct strbuf *out, const struct plan *plan, uint32_t replica, size_t i,
                struct start start);

#endif

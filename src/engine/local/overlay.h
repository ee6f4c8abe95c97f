/* overlay.h - what the shim is told of --overlay: where the layer is kept, and what it does not
 * cover. */
#ifndef ENGINE_LOCAL_OVERLAY_H
#define ENGINE_LOCAL_OVERLAY_H

#include "base/strbuf.h"
#include "plan/plan.h"

/* The paths that stay real, absolute, each once, what is inside another after it. Not among them is
 * /: nothing would be left to protect. */
size_t overlay_real(struct arena *a, const struct plan *plan, const char *const **ret);

/* Adds the layer's part of WIRE_SETUP. */
void overlay_put(struct strbuf *out, const struct plan *plan);

#endif

/* screen.h - where the live view writes: lines to stdout and stderr, and below them, on a terminal,
 * the progress bars and the status line.
 *
 * stdout and stderr may be anything: a file, a terminal, a pipe nobody reads. Unless one is a
 * regular file it is written only as far as it takes without blocking. If one goes away, what would
 * go there is dropped. Their descriptors are shared with whoever started us, so they stay as they
 * are: a terminal or pipe is opened a second time, for itself, without blocking.
 *
 *   stdout and stderr are one terminal     bars and status line at its bottom
 *   stdout is a file, stderr a terminal    bars of stderr, and the status line, on stderr
 *   stdout is a terminal, stderr is not    bars of stdout; no status line: it would go elsewhere
 *   stdout is a pipe                       neither: it may lead to the same terminal (`| tee`)
 *
 * With TERM=dumb there are neither.
 */
#ifndef FOREGROUND_SCREEN_H
#define FOREGROUND_SCREEN_H

#include <stdbool.h>
#include <uv.h>

#include "base/strbuf.h"

struct screen;

/* status: may there be a status line? drained is called when output that had to wait was taken. */
struct screen *screen_new(uv_loop_t *loop, bool status, void (*drained)(void *ctx), void *ctx);
void screen_free(struct screen *sc); /* the loop must turn once more afterwards */

/* Is there room for more, or nobody who reads? Otherwise LIMIT_LIVE_BYTES wait already. */
bool screen_has_room(const struct screen *sc);

/* What a line for this stream is to be added to, or NULL if nobody reads it. */
struct strbuf *screen_lines(struct screen *sc, bool is_err);

bool screen_is_terminal(const struct screen *sc, bool is_err);

/* Are bars of this stream drawn in place? */
bool screen_has_bars(const struct screen *sc, bool is_err);
/* The bar of this key; NULL removes it. */
void screen_bar(struct screen *sc, const void *key, const struct strbuf *text);

void screen_status(struct screen *sc, const char *text); /* NULL removes it */

/* Writes what can be written without waiting. */
void screen_show(struct screen *sc);

/* Writes everything, unless nobody reads: a stream that takes nothing for LIMIT_DRAIN_MS, or when
 * hurried() says so, is given up. */
void screen_drain(struct screen *sc, bool (*hurried)(void));
bool screen_gave_up(const struct screen *sc, bool is_err);
/* Why a stream takes no more, as errno: a full disk. 0: it does, or its reader has gone away. */
int screen_error(const struct screen *sc, bool is_err);
/* Is there nobody left to show anything to? */
bool screen_is_off(const struct screen *sc);

/* Would a short text on stderr be taken at once? */
bool screen_takes_errors(const struct screen *sc);

/* Clears the bottom, so that somebody else can write to the terminal. The next screen_show() or
 * screen_status() draws it again. */
void screen_hide(struct screen *sc);

/* Adds as much of a text as so many columns hold. Colours stay, and are switched off at the end;
 * what else acts on a terminal is left out. */
void screen_cut(struct strbuf *out, const char *text, size_t n, int columns);

#endif

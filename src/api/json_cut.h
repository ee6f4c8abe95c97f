/* json_cut.h - some items of a long list in a JSON text, without reading it into a tree. */
#ifndef API_JSON_CUT_H
#define API_JSON_CUT_H

#include <stdbool.h>

#include "base/strbuf.h"

/* Appends the text with only items [from, from + n) of the first list that is the value of `key` in
 * an object at this depth (1: the outermost), and sets *ret_total to their number. False: there is
 * no such list, or the text is no JSON as far as it was looked at; out is as it was. */
bool json_cut(const char *text, size_t len, const char *key, int depth, size_t from, size_t n,
              struct strbuf *out, size_t *ret_total);

#endif

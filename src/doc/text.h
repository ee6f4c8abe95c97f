/* text.h - what all texts have in common before they are YAML or JSON: bytes, characters, lines. */
#ifndef DOC_TEXT_H
#define DOC_TEXT_H

#include "doc/diag.h"

enum text_kind { TEXT_YAML, TEXT_JSON };

/* Bytes of the line break at s (n bytes, at least 1), 0 if there is none. Lines end as libyaml
 * counts them, whatever the text is, so that one place means one thing: LF, CR, CRLF, NEL, LS, PS.
 */
size_t text_line_break(const char *s, size_t n);

/* Length of the part of the text that may be there at all: UTF-8 without the control characters
 * that its kind forbids everywhere. If it is not all, what follows is reported. */
size_t text_check(const char *text, size_t len, enum text_kind kind, struct diags *ds);

#endif

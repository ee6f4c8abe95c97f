/* assets.h - the files of the page and the OpenAPI document, in the program (tools/web). */
#ifndef API_ASSETS_H
#define API_ASSETS_H

#include <stddef.h>

struct asset {
    const char *name; /* "index.html" */
    const unsigned char *bytes;
    size_t n;
    const char *hash; /* hexadecimal */
};
extern const struct asset assets[]; /* ended by one without a name */

#endif

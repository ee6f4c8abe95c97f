/* schema.h - what bind tables say, as a JSON Schema and as the body of a manual page.
 *
 * The tables are the one place where the keys of a dialect stand; what is made of them here cannot
 * say anything else. A rule between fields is in no table, so a file that a schema accepts may
 * still have errors; a file without errors and warnings is accepted by it.
 */
#ifndef DOC_SCHEMA_H
#define DOC_SCHEMA_H

#include "doc/bind.h"
#include "doc/json.h"

/* A schema of draft 7, which editors know best, for documents by that table. */
void schema_json(struct json *j, const struct bind_table *root, const char *title);

/* A structural schema, as an API server of Kubernetes takes it, for a mapping by that table without
 * the key `but` (or NULL). Tables must not contain themselves. */
void schema_kube(struct json *j, const struct bind_table *root, const char *but);

/* The fields of all mappings in mdoc: a subsection for each, a list of its keys with type and
 * meaning, and what becomes of keys that are not there. */
void schema_mdoc(struct strbuf *out, const struct bind_table *root);

/* What both are made from: every table that is reached from the root, once, in the order of a
 * reader. path is where it is met first: "", "spec.worker", "roles.NAME.mounts[]". */
struct schema_part {
    const struct bind_table *table;
    const char *path, *name; /* name: of its own in this list, made from what messages call it */
};
#define SCHEMA_PARTS_MAX 256
size_t schema_parts(struct arena *a, const struct bind_table *root,
                    struct schema_part ret[SCHEMA_PARTS_MAX]);

/* What a field takes: enum bind_takes; 0: anything. */
unsigned schema_takes(const struct bind_field *f);

#endif

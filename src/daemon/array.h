/* array.h - a submission that is many jobs: --count, and --matrix, one for each combination. */
#ifndef DAEMON_ARRAY_H
#define DAEMON_ARRAY_H

#include "base/strbuf.h"
#include "base/strvec.h"
#include "doc/tree.h"

/* How many jobs the request makes; 0: it is not valid, or they are more than LIMIT_SUBMIT_COUNT. */
int64_t array_total(const struct node *request);

/* The variables of one of them, "lr=0.1", the last matrix varying fastest; of the same combination
 * for each of --count. */
void array_vars(const struct node *request, int64_t index, struct strvec *ret);

struct array_place {
    const char *id; /* of its first job */
    const char *name;
    int64_t index, count;
};

/* The request of a job ("{…}") with its place in the array. */
void array_request(const char *request, const struct array_place *place, const struct strvec *vars,
                   struct strbuf *ret);
/* How much of such a request is that of all jobs of the array; of another one, all of it. */
size_t array_common(const char *request);
/* As it is stored, and told in lists: "ID lr=0.1 seed=1". */
void array_label(const char *id, const struct strvec *vars, struct strbuf *ret);

#endif

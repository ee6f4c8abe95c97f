/* owned.h - whose an object is that has a name we want: pure functions. */
#ifndef OPERATOR_OWNED_H
#define OPERATOR_OWNED_H

#include "operator/served.h"

enum owned {
    OWNED_OURS,    /* the job is its controller */
    OWNED_LEAVING, /* it is being deleted, or belonged to an earlier job of the same name */
    OWNED_OTHERS,  /* it is not touched */
};
enum owned owned_by(const struct node *object, const struct served *s);

/* In upstream's words, for the event ErrResourceExists. */
const char *owned_text(struct arena *a, const struct node *object, const struct served *s);

#endif

/* raise.c - what raising collects; see raise.h. */
#include "dialect/convert/raise.h"

#include <stdarg.h>
#include <string.h>

#include "base/strbuf.h"

static const char *format(struct arena *a, const char *fmt, va_list ap)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    strbuf_vaddf(&sb, fmt, ap);
    return arena_strndup(a, sb.buf, sb.len);
}

void loss_add(struct losses *ls, const char *path, const char *fmt, ...)
{
    va_list ap;

    for (size_t i = 0; i < ls->n; i++)
        if (strcmp(ls->v[i].path, path) == 0)
            return;
    if (ls->n == ls->cap) {
        struct loss *v = ARENA_ARRAY(ls->a, struct loss, ls->cap * 2 + 16);

        if (ls->n)
            memcpy(v, ls->v, ls->n * sizeof(*v));
        ls->v = v;
        ls->cap = ls->cap * 2 + 16;
    }
    va_start(ap, fmt);
    ls->v[ls->n++] = (struct loss){path, format(ls->a, fmt, ap)};
    va_end(ap);
}

const struct node *loss_refuse(struct losses *ls, const char *code, const char *hint,
                               const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ls->refusal = format(ls->a, fmt, ap);
    va_end(ap);
    ls->code = code;
    ls->hint = hint;
    return NULL;
}

void loss_pair(struct losses *ls, const char *from, const char *to)
{
    struct role_pair *v = ARENA_ARRAY(ls->a, struct role_pair, ls->n_roles + 1);

    if (ls->n_roles)
        memcpy(v, ls->roles, ls->n_roles * sizeof(*v));
    v[ls->n_roles++] = (struct role_pair){from, to};
    ls->roles = v;
}

static void add_loss(void *ctx, const char *path, const char *text)
{
    loss_add(ctx, path, "%s", text);
}

struct kube_writing raise_kube(struct raising *r)
{
    return (struct kube_writing){.a = r->a, .spec = r->spec, .lost = add_loss, .ctx = r->losses};
}

struct node *raise_object(struct raising *r, const char *api_version, const char *kind)
{
    const struct kube_writing kube = raise_kube(r);

    return kube_object(&kube, api_version, kind);
}

struct node *raise_template(struct raising *r, const struct role *role, const struct pod_wish *w)
{
    const struct kube_writing kube = raise_kube(r);

    return kube_template(&kube, role, w);
}

/* access.h - where the cluster is and who we are there: kubeconfig files as kubectl reads them, or
 * the service account of the pod we run in.
 *
 * Not here: connections (client.h). Secrets of an access are never part of a message.
 */
#ifndef ENGINE_KUBERNETES_ACCESS_H
#define ENGINE_KUBERNETES_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct pem { /* a certificate or key: its text, or NULL */
    const char *text;
    size_t len;
};

struct kube_access {
    const char *server;     /* https://HOST:PORT[/PATH], without a slash at its end */
    const char *namespace_; /* never NULL */
    const char *context;    /* "" inside a cluster */
    const char *source;     /* file for messages, or "the pod's service account" */
    struct pem ca, cert, key;
    bool insecure;               /* insecure-skip-tls-verify */
    const char *tls_server_name; /* or NULL */
    const char *proxy;           /* or NULL */
    const char *token;           /* or NULL */
    const char *token_file;      /* read again for new requests: tokens expire; or NULL */
    const char *user, *password; /* or NULL */
    const char *const *plugin;   /* argv of the exec plugin that had the token; or NULL */
};

struct access_request {
    const char *context, *namespace_;        /* options, or NULL */
    const char *kubeconfig;                  /* KUBECONFIG: files separated by colons; or NULL */
    const char *home;                        /* or NULL */
    const char *service_host, *service_port; /* KUBERNETES_SERVICE_HOST and _PORT, or NULL */
};

/* All strings are in the arena. -ENOENT: there is no configuration; -EINVAL: it is not usable, e
 * names file and place. Runs the exec plugin of the user, if there is one, and waits for it. */
int access_load(struct arena *a, const struct access_request *rq, struct kube_access *ret,
                struct err *e);

#endif

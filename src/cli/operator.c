/* operator.c - `muster operator`: the controller of a cluster, which is a program of its own
 * because it needs libcurl and OpenSSL. Its options are its own too (operator/flags.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/place.h"
#include "cli/tell.h"

static int run(const struct verb *verb, int argc, char **argv)
{
    static char muster[] = "muster";
    auto_free char **words = xcalloc((size_t)argc + 2, sizeof(*words));
    struct err e;

    words[0] = muster;
    memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
    (void)place_become(verb->name, words, &e);
    tell_error("%s", e.text);
    return EXIT_FAILED;
}

static const struct opt opts[] = {OPT_END};

const struct verb verb_operator = {
    .name = "operator",
    .synopsis = "[OPTION…]",
    .summary = "serve the job kinds of Kubeflow and T9k in a Kubernetes cluster",
    .opts = opts,
    .usage_exit = EXIT_USAGE,
    .run = run,
};

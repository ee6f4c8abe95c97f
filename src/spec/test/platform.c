/* platform.c - the platforms: their words, and which of them a mixture is. */
#include "spec/platform.h"

#include <string.h>

#include "base/tap.h"

int main(void)
{
    struct platform none = {0};

    for (int i = 0; i < PLATFORM_KINDS; i++) {
        struct platform p = platform_of((enum platform_kind)i);

        is_int(platform_kind_of(&p), i, "%s is itself", platform_words[i]);
        for (int k = 0; k < i; k++)
            ok(strcmp(platform_words[i], platform_words[k]) != 0, "and nothing else's word");
        p.hosts = p.hosts == HOSTS_BY_ROLE ? HOSTS_BY_JOB : HOSTS_BY_ROLE;
        is_int(platform_kind_of(&p), -1, "%s with other hosts is a mixture", platform_words[i]);
        p = platform_of((enum platform_kind)i);
        p.status = (enum platform_kind)((i + 1) % PLATFORM_KINDS);
        is_int(platform_kind_of(&p), -1, "%s with another status is one", platform_words[i]);
    }
    ok(!platform_words[PLATFORM_KINDS], "the list ends");
    is_int(platform_kind_of(&none), PLATFORM_MUSTER, "nothing said is Muster's own");
    ok(platform_is_mpijob(PLATFORM_MPIJOB_V1ALPHA1) &&
           platform_is_mpijob(PLATFORM_MPIJOB_V2BETA1) && !platform_is_mpijob(PLATFORM_T9K) &&
           !platform_is_mpijob(PLATFORM_PYTORCHJOB),
       "MPIJobs");
    ok(platform_has_kubelet(PLATFORM_T9K) && platform_has_kubelet(PLATFORM_TFJOB) &&
           !platform_has_kubelet(PLATFORM_OPENPAI) && !platform_has_kubelet(PLATFORM_MUSTER),
       "those with a kubelet");
    return tap_done();
}

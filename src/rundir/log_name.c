/* log_name.c - see log_name.h. */
#include "rundir/log_name.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"

/* The number behind a part ".WORD-" of the name, or `otherwise`. */
static int64_t part(const char *name, const char *word, int64_t otherwise)
{
    const char *at = strstr(name, word);
    uint32_t n;
    char digits[16];

    if (!at)
        return otherwise;
    at += strlen(word);
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)strspn(at, "0123456789"), at);
    return num_u32(digits, &n) == 0 ? (int64_t)n : otherwise;
}

bool log_name_parse(const char *name, struct log_owner *ret)
{
    static const char *const parts[] = {".rank-",    ".task-",   ".process-", ".attempt-",
                                        ".restart-", ".launch-", ".init-"};
    size_t len = strlen(name), n = len - 4;

    if (len < 5 || strcmp(name + n, ".log") != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) { /* a role's own name may have dots */
        const char *at = strstr(name, parts[i]);
        if (at && (size_t)(at - name) < n)
            n = (size_t)(at - name);
    }
    if (n >= sizeof(ret->replica))
        return false;
    memcpy(ret->replica, name, n);
    ret->replica[n] = '\0';
    const char *dash = strrchr(ret->replica, '-');
    ret->role_len = dash ? (size_t)(dash - ret->replica) : n;
    ret->rank = part(name, ".rank-", -1);
    ret->attempt = part(name, ".attempt-", 1);
    const char *init = strstr(name + n, ".init-");
    const char *task = strstr(name + n, ".task-");
    ret->init = init != NULL;
    ret->part = init ? init + 1 : task ? task + strlen(".task-") : NULL;
    ret->part_len = ret->part ? strcspn(ret->part, ".") : 0;
    return true;
}

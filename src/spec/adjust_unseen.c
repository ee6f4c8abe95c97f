/* adjust_unseen.c - numbers of processes in parts of a command that are not read: here-documents,
 * the text of a nested shell. They cannot be changed, so --fit must not pretend that all is well.
 */
#include <ctype.h>
#include <string.h>

#include "base/num.h"
#include "spec/adjust_parts.h"

/* The option that begins at `at`, and the number behind it. */
static size_t count_at(const char *at, int64_t *ret)
{
    static const char *const options[] = {"-np", "--np", "--nproc_per_node", "--nproc-per-node"};

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        size_t n = strlen(options[i]), digits;
        const char *number;
        char text[16];

        if (strncmp(at, options[i], n) != 0)
            continue;
        number = at + n + strspn(at + n, " \t=");
        digits = strspn(number, "0123456789");
        if (number == at + n || digits == 0 || digits >= sizeof(text))
            continue;
        memcpy(text, number, digits);
        text[digits] = '\0';
        return num_i64(text, ret) == 0 ? n : 0;
    }
    return 0;
}

static bool is_seen(const struct seen_numbers *seen, int64_t value)
{
    for (size_t i = 0; i < seen->n && i < ARRAY_SIZE(seen->v); i++)
        if (seen->v[i] == value)
            return true;
    return false;
}

static size_t find_in(struct adjuster *x, const char *name, const char *text, int64_t target,
                      const struct seen_numbers *seen)
{
    size_t found = 0;

    for (const char *at = text; at && (at = strchr(at, '-')); at += strspn(at, "-")) {
        int64_t value;
        size_t n = at == text || isspace((unsigned char)at[-1]) ? count_at(at, &value) : 0;

        if (n == 0 || value <= target || is_seen(seen, value))
            continue;
        change_add(x, SEV_WARNING,
                   "%.*s %lld in the script of %s is not changed; this machine has %d core%s",
                   (int)n, at, (long long)value, name, x->adj->cpus, x->adj->cpus == 1 ? "" : "s");
        found++;
    }
    return found;
}

size_t adjust_unseen(struct adjuster *x, const struct role *role, int64_t target,
                     const struct seen_numbers *seen)
{
    size_t found = find_in(x, role->name, role->shell, target, seen);

    for (const char *const *word = role->argv; word && *word; word++)
        found += find_in(x, role->name, *word, target, seen);
    return found;
}

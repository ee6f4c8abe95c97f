/* ignore.c - see ignore.h. */
#include "engine/ignore.h"

#include <fnmatch.h>
#include <string.h>

struct ignore_rule {
    const char *pattern; /* without slashes at its ends */
    bool negates;        /* "!pattern" */
    bool only_dirs;      /* "pattern/" */
    bool whole;          /* it is matched against the whole path, else against its last word */
};

static bool parse_line(struct arena *a, const char *line, size_t n, struct ignore_rule *ret)
{
    *ret = (struct ignore_rule){0};
    if (n > 0 && line[n - 1] == '\r')
        n--;
    while (n > 0 && line[n - 1] == ' ' && !(n > 1 && line[n - 2] == '\\'))
        n--;
    if (n > 0 && line[0] == '#')
        return false;
    if (n > 0 && line[0] == '!') {
        ret->negates = true;
        line++;
        n--;
    }
    if (n > 0 && line[n - 1] == '/') {
        ret->only_dirs = true;
        n--;
    }
    ret->whole = memchr(line, '/', n) != NULL;
    if (n > 0 && line[0] == '/') {
        line++;
        n--;
    }
    ret->pattern = arena_strndup(a, line, n);
    return n > 0;
}

void ignore_parse(struct arena *a, const char *text, struct ignore *ret)
{
    struct ignore_rule *rules;
    size_t n = 1;

    for (const char *c = text; *c; c++)
        n += *c == '\n';
    rules = ARENA_ARRAY(a, struct ignore_rule, n);
    n = 0;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");

        n += parse_line(a, line, len, &rules[n]);
        line += len + (line[len] == '\n');
    }
    *ret = (struct ignore){rules, n};
}

/* One word of a pattern against one of a path. */
static bool word_matches(const char *pattern, size_t n, const char *word, size_t len)
{
    char p[256], w[256];

    if (n >= sizeof(p) || len >= sizeof(w))
        return false;
    memcpy(p, pattern, n);
    memcpy(w, word, len);
    p[n] = w[len] = '\0';
    return fnmatch(p, w, 0) == 0;
}

/* Word by word; "**" is any number of them. It recurses once for each "**". */
static bool path_matches(const char *pattern, const char *path)
{
    for (;;) {
        size_t n = strcspn(pattern, "/"), len = strcspn(path, "/");

        if (n == 2 && strncmp(pattern, "**", 2) == 0) {
            if (!pattern[n])
                return *path != '\0';
            for (;;) {
                if (path_matches(pattern + n + 1, path))
                    return true;
                if (!path[strcspn(path, "/")])
                    return false;
                path += strcspn(path, "/") + 1;
            }
        }
        if (!*path || !word_matches(pattern, n, path, len))
            return false;
        if (!pattern[n] || !path[len])
            return !pattern[n] && !path[len];
        pattern += n + 1;
        path += len + 1;
    }
}

bool ignore_has(const struct ignore *ig, const char *path, bool is_dir)
{
    const char *slash = strrchr(path, '/');

    for (size_t i = ig->n; i > 0; i--) {
        const struct ignore_rule *rule = &ig->rules[i - 1];

        if (rule->only_dirs && !is_dir)
            continue;
        if (rule->whole ? path_matches(rule->pattern, path)
                        : path_matches(rule->pattern, slash ? slash + 1 : path))
            return !rule->negates;
    }
    return false;
}

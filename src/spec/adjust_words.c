/* adjust_words.c - replacing words of commands; paths among them (paths.h). */
#include <string.h>

#include "base/strbuf.h"
#include "spec/adjust_parts.h"
#include "spec/paths.h"

const char *edit_shell(struct arena *a, const char *text, const struct word_edit *edit)
{
    const struct shell_word *words;
    size_t n, changed = 0;
    const char **with;

    if (!text)
        return NULL;
    n = edit->targets ? shell_words_all(a, text, &words) : shell_words(a, text, &words);
    with = ARENA_ARRAY(a, const char *, n + 1);
    edit->edit(edit->ctx, words, n, with);
    for (size_t i = 0; i < n; i++) {
        auto_strbuf struct strbuf quoted = STRBUF_INIT;

        if (!with[i])
            continue;
        changed++;
        strbuf_add_shell_word(&quoted, with[i]);
        with[i] = arena_strndup(a, quoted.buf, quoted.len);
    }
    return changed ? shell_replace(a, text, words, n, with) : text;
}

/* The index of the text in `sh -c TEXT`, also behind other options (`bash -eux -c`, `bash -lc`); 0
 * if it is no such line. */
static size_t shell_text_at(const char *const *argv)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh"};
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    bool is_shell = false;

    for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
        is_shell = is_shell || !strcmp(name, shells[i]);
    for (size_t i = 1; is_shell && argv[i] && argv[i][0] == '-'; i++)
        if (argv[i][1] != '-' && strchr(argv[i], 'c') && argv[i + 1])
            return i + 1;
    return 0;
}

const char *const *edit_argv(struct arena *a, const char *const *argv, const struct word_edit *edit)
{
    size_t n = 0, text_at;
    const char **made, **with;
    struct shell_word *words;

    if (!argv || !argv[0])
        return argv;
    while (argv[n])
        n++;
    made = ARENA_ARRAY(a, const char *, n + 1);
    memcpy(made, argv, n * sizeof(*made));
    text_at = shell_text_at(argv);
    if (text_at) {
        made[text_at] = edit_shell(a, argv[text_at], edit);
        return made;
    }
    words = ARENA_ARRAY(a, struct shell_word, n);
    with = ARENA_ARRAY(a, const char *, n);
    for (size_t i = 0; i < n; i++)
        words[i] = (struct shell_word){.text = argv[i], .plain = true, .begins = i == 0};
    edit->edit(edit->ctx, words, n, with);
    for (size_t i = 0; i < n; i++)
        if (with[i])
            made[i] = with[i];
    return made;
}

void edit_command(struct arena *a, struct role *role, const struct word_edit *edit)
{
    role->argv = edit_argv(a, role->argv, edit);
    role->shell = edit_shell(a, role->shell, edit);
}

/* --- paths --------------------------------------------------------------------------------------
 */

struct path_edit {
    struct arena *a;
    const struct path_maps *maps;
    size_t changed;
};

const char *paths_one(struct arena *a, const struct path_maps *maps, const char *path)
{
    const struct path_map *best = NULL;
    size_t best_len = 0;

    for (size_t i = 0; i < maps->n; i++) {
        const struct path_map *map = &maps->v[i];
        size_t len = strlen(map->from);

        if (strncmp(path, map->from, len) == 0 && (path[len] == '\0' || path[len] == '/') &&
            (!best || len > best_len)) {
            best = map;
            best_len = len;
        }
    }
    return best ? arena_printf(a, "%s%s", best->to, path + best_len) : NULL;
}

/* A word that is a path, or an option's or variable's value that is one: --data=/mnt/data. */
static const char *map_word(struct path_edit *m, const char *word)
{
    const char *equals = strchr(word, '=');
    const char *made = NULL;

    if (word[0] == '/')
        made = paths_one(m->a, m->maps, word);
    else if (equals && equals[1] == '/') {
        made = paths_one(m->a, m->maps, equals + 1);
        if (made)
            made = arena_printf(m->a, "%.*s%s", (int)(equals + 1 - word), word, made);
    }
    m->changed += made != NULL;
    return made;
}

static void map_words(void *ctx, const struct shell_word *words, size_t n, const char **with)
{
    for (size_t i = 0; i < n; i++)
        if (words[i].plain)
            with[i] = map_word(ctx, words[i].text);
}

const char *const *paths_argv(struct arena *a, const struct path_maps *maps,
                              const char *const *argv, size_t *changed)
{
    struct path_edit m = {.a = a, .maps = maps};
    const struct word_edit edit = {map_words, &m, true};
    const char *const *made = edit_argv(a, argv, &edit);

    *changed += m.changed;
    return m.changed ? made : argv;
}

const char *paths_shell(struct arena *a, const struct path_maps *maps, const char *text,
                        size_t *changed)
{
    struct path_edit m = {.a = a, .maps = maps};
    const struct word_edit edit = {map_words, &m, true};
    const char *made = edit_shell(a, text, &edit);

    *changed += m.changed;
    return made;
}

/* matrix.c - see matrix.h. */
#include "cli/matrix.h"

#include <ctype.h>
#include <string.h>

#include "base/limits.h"
#include "base/nearest.h"
#include "cli/tell.h"

static bool is_name(const char *name, size_t n)
{
    if (n == 0 || isdigit((unsigned char)*name))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return true;
}

static int64_t n_values(const char *list)
{
    int64_t n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

static int check_word(const struct verb *verb, const struct strvec *matrix, size_t i)
{
    const char *word = matrix->v[i];
    size_t n = strcspn(word, "=");

    if (!word[n] || !is_name(word, n) || strncmp(word, "MUSTER_", 7) == 0)
        return usage_error(verb, "--matrix must be NAME=VALUE,VALUE…, not \"%s\"", word);
    for (const char *v = word + n + 1;; v = strchr(v, ',') + 1) {
        if (*v == ',' || !*v)
            return usage_error(verb, "--matrix \"%s\" has an empty value", word);
        if (!strchr(v, ','))
            break;
    }
    for (size_t k = 0; k < i; k++)
        if (strncmp(matrix->v[k], word, n + 1) == 0)
            return usage_error(verb, "--matrix has \"%.*s\" twice; give all values in one option",
                               (int)n, word);
    return 0;
}

int matrix_check(const struct verb *verb, const struct strvec *matrix, int64_t count,
                 int64_t *ret_total)
{
    int64_t total = count;

    if (matrix->n > LIMIT_MATRIX)
        return usage_error(verb, "at most %d --matrix, not %zu", LIMIT_MATRIX, matrix->n);
    for (size_t i = 0; i < matrix->n; i++) {
        int code = check_word(verb, matrix, i);

        if (code != 0)
            return code;
        total *= n_values(matrix->v[i]);
        if (total > LIMIT_SUBMIT_COUNT)
            return usage_error(verb, "--matrix and --count make more than %d jobs",
                               LIMIT_SUBMIT_COUNT);
    }
    *ret_total = total;
    return 0;
}

void matrix_put(struct json *j, const struct strvec *matrix)
{
    json_key(j, "matrix");
    json_array(j);
    for (size_t i = 0; i < matrix->n; i++) {
        const char *word = matrix->v[i], *v = word + strcspn(word, "=") + 1;

        json_object(j);
        json_key(j, "name");
        json_strn(j, word, (size_t)(v - 1 - word));
        json_key(j, "values");
        json_array(j);
        for (size_t n; *v; v += n + (v[n] == ',')) {
            n = strcspn(v, ",");
            json_strn(j, v, n);
        }
        json_end(j);
        json_end(j);
    }
    json_end(j);
}

/* Is {NAME} at `at` a placeholder, by its looks? ${NAME} is the shell's. */
static size_t placeholder(const char *word, const char *at)
{
    size_t n = strcspn(at + 1, "}");

    return at[1 + n] && is_name(at + 1, n) && (at == word || at[-1] != '$') ? n : 0;
}

static bool is_of(const struct strvec *matrix, const char *name, size_t n)
{
    for (size_t i = 0; i < matrix->n; i++)
        if (strncmp(matrix->v[i], name, n) == 0 && matrix->v[i][n] == '=')
            return true;
    return false;
}

static void warn_unknown(const struct strvec *matrix, const char *name)
{
    auto_strvec struct strvec names = STRVEC_INIT;
    auto_strbuf struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < matrix->n; i++)
        strvec_pushf(&names, "%.*s", (int)strcspn(matrix->v[i], "="), matrix->v[i]);
    const char *near = nearest_word(name, (const char *const *)names.v, names.n);
    strbuf_addf(&text, "{%s} in the command is not a name of --matrix, and is passed on as it is",
                name);
    if (near)
        strbuf_addf(&text, "; did you mean {%s}?", near);
    else if (matrix->n == 0)
        strbuf_addstr(&text, "; MUSTER_ARRAY_INDEX in the environment has the job's number");
    tell_warning(text.buf);
}

void matrix_warn(const struct strvec *matrix, int64_t count, char *const *words, int n)
{
    auto_strvec struct strvec told = STRVEC_INIT;

    for (int i = 0; (matrix->n > 0 || count > 1) && i < n; i++)
        for (const char *at = strchr(words[i], '{'); at; at = strchr(at + 1, '{')) {
            size_t len = placeholder(words[i], at);
            bool before = len == 0 || is_of(matrix, at + 1, len);

            for (size_t k = 0; !before && k < told.n; k++)
                before = strlen(told.v[k]) == len && memcmp(told.v[k], at + 1, len) == 0;
            if (before)
                continue;
            strvec_pushf(&told, "%.*s", (int)len, at + 1);
            warn_unknown(matrix, told.v[told.n - 1]);
        }
}

/* --- for the daemon --------------------------------------------------------------------------- */

/* {NAME} of the job's variables; other braces are the user's own. */
static char *fill_in(struct arena *a, const struct submission *sub, const char *word)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    while (*word) {
        size_t n = strcspn(word, "{"), len = 0;

        strbuf_add(&out, word, n);
        word += n;
        for (char **v = sub->vars; *word && v && *v && len == 0; v++) {
            size_t name = strcspn(*v, "=");

            if (strncmp(word + 1, *v, name) == 0 && word[1 + name] == '}') {
                strbuf_addstr(&out, *v + name + 1);
                len = name + 2;
            }
        }
        if (*word && len == 0) {
            strbuf_addch(&out, *word);
            len = 1;
        }
        word += len;
    }
    return arena_strdup(a, out.buf);
}

void matrix_apply_words(struct arena *a, const struct submission *sub, struct operands *ops)
{
    for (int i = 0; sub->array && ops->rest && i < ops->n_rest; i++)
        ops->rest[i] = fill_in(a, sub, ops->rest[i]);
}

/* After those of the file, which they replace. */
static const struct env_entry *with_vars(struct arena *a, const struct submission *sub,
                                         const struct role *role, size_t *ret_n)
{
    size_t n = 0;

    while (sub->vars[n])
        n++;
    struct env_entry *v = ARENA_ARRAY(a, struct env_entry, role->n_env + n + 3);
    if (role->n_env)
        memcpy(v, role->env, role->n_env * sizeof(*v));
    struct env_entry *at = v + role->n_env;
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(sub->vars[i], '=');

        *at++ = (struct env_entry){
            .name = arena_printf(a, "%.*s", (int)(eq - sub->vars[i]), sub->vars[i]),
            .value = eq + 1};
    }
    *at++ = (struct env_entry){.name = "MUSTER_ARRAY_ID", .value = sub->array};
    *at++ = (struct env_entry){.name = "MUSTER_ARRAY_INDEX",
                               .value = arena_printf(a, "%lld", (long long)sub->array_index)};
    *at++ = (struct env_entry){.name = "MUSTER_ARRAY_COUNT",
                               .value = arena_printf(a, "%lld", (long long)sub->array_count)};
    *ret_n = (size_t)(at - v);
    return v;
}

void matrix_apply(struct arena *a, const struct submission *sub, struct submitted *s)
{
    if (!sub->array)
        return;
    struct job_spec *copy = ARENA_NEW(a, struct job_spec);
    struct role *roles = ARENA_ARRAY(a, struct role, s->spec->n_roles + 1);

    *copy = *s->spec;
    memcpy(roles, copy->roles, copy->n_roles * sizeof(*roles));
    for (size_t i = 0; i < copy->n_roles; i++)
        roles[i].env = with_vars(a, sub, &roles[i], &roles[i].n_env);
    copy->roles = roles;
    copy->name = sub->name;
    s->spec = copy;
}

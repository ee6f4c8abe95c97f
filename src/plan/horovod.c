/* horovod.c - horovodrun's command line as the mpirun line it stands for.
 *
 * The options are those that horovodrun itself gives to Open MPI, as its users know them from the
 * documentation. Options about horovodrun's own work (timeouts, caches, tuning) have no place there
 * and are dropped.
 */
#include "plan/horovod.h"

#include <string.h>

#include "base/strbuf.h"

#define MPIRUN_FLAGS                                                                               \
    " -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH -mca pml ob1"       \
    " -mca btl ^openib"

static const struct horovod_option {
    const char *name;
    const char *becomes; /* mpirun's name for it, or NULL: dropped */
    bool value;
    bool elastic;
} options[] = {
    {"-np", "-np", true, false},
    {"--num-proc", "-np", true, false},
    {"-H", "-H", true, false},
    {"--hosts", "-H", true, false},
    {"-hostfile", "--hostfile", true, false},
    {"--hostfile", "--hostfile", true, false},
    {"--mpi-args", "", true, false}, /* its value goes as it is */
    {"--network-interface", NULL, true, false},
    {"--network-interfaces", NULL, true, false},
    {"--start-timeout", NULL, true, false},
    {"--output-filename", NULL, true, false},
    {"--ssh-port", NULL, true, false},
    {"-p", NULL, true, false},
    {"--ssh-identity-file", NULL, true, false},
    {"-i", NULL, true, false},
    {"--config-file", NULL, true, false},
    {"--fusion-threshold-mb", NULL, true, false},
    {"--cycle-time-ms", NULL, true, false},
    {"--cache-capacity", NULL, true, false},
    {"--timeline-filename", NULL, true, false},
    {"--log-level", NULL, true, false},
    {"--gloo-timeout-seconds", NULL, true, false},
    {"--min-np", NULL, true, true},
    {"--max-np", NULL, true, true},
    {"--min-num-proc", NULL, true, true},
    {"--max-num-proc", NULL, true, true},
    {"--host-discovery-script", NULL, true, true},
};

static const struct horovod_option *option_of(const char *word, const char **ret_value)
{
    size_t n = strcspn(word, "=");

    *ret_value = word[n] ? word + n + 1 : NULL;
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strlen(options[i].name) == n && !strncmp(options[i].name, word, n))
            return &options[i];
    return NULL;
}

static bool is_horovodrun(const struct shell_word *w)
{
    const char *slash = strrchr(w->text, '/');

    return w->plain && !strcmp(slash ? slash + 1 : w->text, "horovodrun");
}

/* The word as it stands in the text, its quotes included. */
static void add_word(struct strbuf *line, const char *text, const struct shell_word *w)
{
    strbuf_addch(line, ' ');
    strbuf_add(line, text + w->start, w->end - w->start);
}

/* Adds the option at words[0]; returns the number of words it takes, 0 for an elastic job's. */
static size_t add_option(struct strbuf *line, const char *text, const struct shell_word *words,
                         size_t n)
{
    const char *value;
    const struct horovod_option *o = option_of(words[0].text, &value);
    bool next = o && o->value && !value && n > 1;

    if (o && o->elastic)
        return 0;
    if (o && o->becomes && (value || next)) {
        if (*o->becomes)
            strbuf_addf(line, " %s", o->becomes);
        if (next && *o->becomes)
            add_word(line, text, &words[1]);
        else
            strbuf_addf(line, " %s", next ? words[1].text : value);
    }
    return next ? 2 : 1;
}

const char *horovod_as_mpirun(struct arena *a, const char *text, const struct shell_word *words,
                              size_t n)
{
    auto_strbuf struct strbuf line = STRBUF_INIT;
    size_t i = 0, used;
    uint32_t command;

    while (i < n && !is_horovodrun(&words[i]))
        i++;
    if (i == n)
        return NULL;
    command = words[i++].command;
    strbuf_addstr(&line, "mpirun");
    for (; i < n && words[i].command == command && words[i].text[0] == '-'; i += used) {
        used = add_option(&line, text, &words[i], n - i);
        if (!used)
            return NULL;
    }
    strbuf_addstr(&line, MPIRUN_FLAGS);
    for (; i < n && words[i].command == command; i++)
        add_word(&line, text, &words[i]);
    return arena_strndup(a, line.buf, line.len);
}

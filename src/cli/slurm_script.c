/* slurm_script.c - see slurm_script.h. As sbatch does, options are looked for before the first
 * command only. */
#include "cli/slurm_script.h"

#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"

#define MARK "#SBATCH"
#define BLANKS " \t\r"
#define SHELL_SYNTAX "$&|;<>()\"'`*?\\{}[]#~="

struct asked { /* 0: not given */
    int64_t nodes, tasks, per_node;
};

static const struct {
    const char *name;
    size_t field;
} options[] = {
    {"--ntasks-per-node", offsetof(struct asked, per_node)},
    {"--tasks-per-node", offsetof(struct asked, per_node)},
    {"--ntasks", offsetof(struct asked, tasks)},
    {"--nodes", offsetof(struct asked, nodes)},
    {"-n", offsetof(struct asked, tasks)},
    {"-N", offsetof(struct asked, nodes)},
};

void slurm_script_release(struct slurm_script *s)
{
    strbuf_release(&s->step);
}

/* The next word of a line, or NULL. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, BLANKS);
    size_t n = strcspn(word, BLANKS);

    *at = word + n;
    if (n > 0 && word[n])
        *(*at)++ = '\0';
    return n > 0 ? word : NULL;
}

/* "4", or the lower end of "2-4". */
static int64_t count_of(char *text)
{
    int64_t n = 0;

    text[strspn(text, "0123456789")] = '\0';
    return num_i64(text, &n) == 0 && n >= 1 && n <= LIMIT_PROCESSES ? n : 0;
}

/* "--nodes=2", "--nodes 2", "-N 2", "-N2" */
static void read_option(char *word, char **at, struct asked *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        size_t n = strlen(options[i].name);
        char *value = word + n;
        int64_t *field = (int64_t *)((char *)ret + options[i].field);

        if (strncmp(word, options[i].name, n) != 0)
            continue;
        if (!*value)
            value = next_word(at);
        else if (word[1] == '-' && *value++ != '=')
            continue;
        if (value)
            *field = count_of(value);
        return;
    }
}

static void read_options(char *line, struct asked *ret)
{
    char *word;

    while ((word = next_word(&line)) && *word != '#')
        read_option(word, &line, ret);
}

static bool is_launcher(const char *word)
{
    return !strcmp(word, "srun") || !strcmp(word, "mpirun") || !strcmp(word, "mpiexec");
}

/* A command after srun; its own options only as far as they repeat the number of tasks. */
static void read_step(char *line, struct slurm_script *ret)
{
    bool plain = !strpbrk(line, SHELL_SYNTAX);
    char *word = next_word(&line);

    if (!word || !is_launcher(word))
        return;
    plain = plain && !ret->launches;
    ret->launches = true;
    strbuf_truncate(&ret->step, 0);
    word = next_word(&line);
    while (plain && word && (!strcmp(word, "-n") || !strcmp(word, "-np"))) {
        char *value = next_word(&line);
        int64_t n = value ? count_of(value) : 0;

        ret->tasks = n ? n : ret->tasks;
        word = next_word(&line);
    }
    for (; plain && word && (ret->step.len > 0 || *word != '-'); word = next_word(&line))
        strbuf_addf(&ret->step, "%s%s", ret->step.len ? " " : "", word);
}

static void count_tasks(const struct asked *asked, struct slurm_script *s)
{
    int64_t nodes = asked->nodes ? asked->nodes : 1;

    s->hosts = nodes;
    s->tasks = asked->tasks                                        ? asked->tasks
               : asked->per_node && asked->per_node <= LIMIT_SLOTS ? nodes * asked->per_node
                                                                   : nodes;
}

bool slurm_script_read(const char *text, struct slurm_script *ret)
{
    auto_free char *copy = xstrdup(text);
    struct asked asked = {0};
    bool found = false, begun = false;
    char *next;

    for (char *line = copy; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (!begun && strncmp(line, MARK, strlen(MARK)) == 0) {
            found = true;
            read_options(line + strlen(MARK), &asked);
        } else if (*line != '#' && line[strspn(line, BLANKS)]) {
            if (!found)
                return false;
            if (!begun)
                count_tasks(&asked, ret);
            begun = true;
            read_step(line, ret);
        }
    }
    if (found && !begun)
        count_tasks(&asked, ret);
    if (found && ret->tasks % ret->hosts != 0)
        ret->hosts = 1;
    return found;
}

void slurm_script_line(const struct slurm_script *s, const char *path, struct strbuf *out)
{
    /* sbatch runs the script itself once, whatever the number of tasks. */
    strbuf_addf(out, "muster run -n %lld ", s->launches ? (long long)s->tasks : 1LL);
    if (s->launches && s->hosts > 1)
        strbuf_addf(out, "--hosts %lld ", (long long)s->hosts);
    strbuf_addstr(out, "-- ");
    if (s->step.len > 0) {
        strbuf_addstr(out, s->step.buf);
    } else if (s->launches) {
        strbuf_addstr(out, "CMD…");
    } else {
        strbuf_addstr(out, "bash ");
        strbuf_add_shell_word(out, path);
    }
}

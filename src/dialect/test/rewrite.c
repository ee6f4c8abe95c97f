/* rewrite.c - which words of a command are mended, that nothing else is, and where it is told. */
#include "dialect/rewrite.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/tap.h"
#include "doc/yaml.h"

#define LAUNCH "python -m torch.distributed.launch "

static const struct {
    const char *text;
    const char *want; /* NULL: stays as it is */
    const char *codes;
} rows[] = {
    {"python train.py", NULL, ""},
    {"mpirun --hostfile AZUREML_MPI_HOSTFILE a", "mpirun --hostfile \"$AZUREML_MPI_HOSTFILE\" a",
     "W0401"},
    {"x NODE_RANK  MASTER_ADDR\tMASTER_PORT # NODE_RANK",
     "x \"$NODE_RANK\"  \"$MASTER_ADDR\"\t\"$MASTER_PORT\" # NODE_RANK", "W0401 W0401 W0401"},
    {"a && b NODE_RANK", "a && b \"$NODE_RANK\"", "W0401"},
    {"env A=1 b NODE_RANK", "env A=1 b \"$NODE_RANK\"", "W0401"},
    {"[ NODE_RANK = 0 ]", "[ \"$NODE_RANK\" = 0 ]", "W0401"},
    {"x $NODE_RANK ${NODE_RANK} \"NODE_RANK\" 'NODE_RANK' NODE\\_RANK", NULL, ""},
    {"x NODE_RANKS --rank=NODE_RANK NODE_RANK=1 WORLD_SIZE", NULL, ""},
    {"NODE_RANK=1 x", NULL, ""},
    {"NODE_RANK", NULL, ""},
    {"export NODE_RANK; unset MASTER_ADDR; printenv MASTER_PORT", NULL, ""},
    {"mpirun -x MASTER_ADDR -x NODE_RANK a", NULL, ""},
    {"mpiexec -genv MASTER_ADDR b -genvlist NODE_RANK a", NULL, ""},
    {"env -u NODE_RANK a", NULL, ""},
    {"for NODE_RANK in 1 2; do a; done", NULL, ""},
    {"x > NODE_RANK", NULL, ""},
    {"cat <<E\nNODE_RANK\nE\n", NULL, ""},
    {"x 'open NODE_RANK", NULL, ""},
    /* a stray python */
    {LAUNCH "--nproc_per_node 4 --use_env python train.py --lr 1",
     LAUNCH "--nproc_per_node 4 --use_env train.py --lr 1", "W0402"},
    {LAUNCH "--nnodes=2 --use-env  python3 \\\n train.py",
     LAUNCH "--nnodes=2 --use-env  \\\n train.py", "W0402"},
    {"/usr/bin/python3.9 -u -m torch.distributed.run --nnodes 2 /usr/bin/python3 a.py",
     "/usr/bin/python3.9 -u -m torch.distributed.run --nnodes 2 a.py", "W0402"},
    {"torchrun --standalone --nproc_per_node 2 python a.py",
     "torchrun --standalone --nproc_per_node 2 a.py", "W0402"},
    {"cd x; exec torchrun python $SCRIPT", "cd x; exec torchrun $SCRIPT", "W0402"},
    {LAUNCH "--node_rank NODE_RANK python a.py", LAUNCH "--node_rank \"$NODE_RANK\" a.py",
     "W0401 W0402"},
    {LAUNCH "--use_env train.py python x.py", NULL, ""},
    {LAUNCH "--no_python --use_env python train.py", NULL, ""},
    {"torchrun --no-python python train.py", NULL, ""},
    {"torchrun -m python train.py", NULL, ""},
    {LAUNCH "--use_env python", NULL, ""},
    {LAUNCH "--use_env python -m x", NULL, ""},
    {LAUNCH "--use_env", NULL, ""},
    {LAUNCH, NULL, ""},
    {"python -m", NULL, ""},
    {"python -m other python train.py", NULL, ""},
    {"python train.py -m torch.distributed.launch python x.py", NULL, ""},
    {"torchrun --log_dir python train.py", NULL, ""},
    {"", NULL, ""},
};

static const char *codes(struct arena *a, const struct diags *ds)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < ds->n; i++)
        strbuf_addf(&sb, "%s%s", i ? " " : "", ds->v[i].code);
    return arena_strndup(a, sb.buf, sb.len);
}

static struct node node_of(const char *text)
{
    return (struct node){
        .type = NODE_STRING, .text = text, .len = strlen(text), .pos = {7, 3}, .quoted = true};
}

static void test_commands(struct arena *a)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct read_options opts = {0};
        struct node at = node_of(rows[i].text);
        struct diags ds;
        struct rewrite rw = {a, &ds, &opts, NULL, &at};
        const char *got;

        diags_init(&ds, a);
        got = rewrite_command(&rw, rows[i].text);
        is_str(got, rows[i].want ? rows[i].want : rows[i].text, "%s", rows[i].text);
        ok(rows[i].want || got == rows[i].text, "the very same text if nothing changes");
        is_str(codes(a, &ds), rows[i].codes, "what is told");
        diags_release(&ds);

        opts.keep_text = true;
        diags_init(&ds, a);
        ok(rewrite_command(&rw, rows[i].text) == rows[i].text, "kept if that is wanted");
        is_str(codes(a, &ds), rows[i].codes, "and told all the same");
        for (size_t k = 0; k < ds.n; k++)
            has(ds.v[k].message, "would be", "as what would be done");
        diags_release(&ds);
    }
}

static void test_sleep(struct arena *a)
{
    static const struct {
        const char *text, *rest; /* rest: NULL if there is nothing to drop */
    } sleeps[] = {
        {"sleep 1000 &&  Your code", "Your code"},
        {"sleep 60 && (a; b)", "(a; b)"},
        {"sleep 5m && \\\n a", "\\\n a"},
        {"sleep 59 && a", NULL},
        {"sleep 1000; a", "a"},
        {"sleep 1000 || a", NULL},
        {"sleep 1000 & a", NULL},
        {"sleep 1000", NULL},
        {"sleep 1000 &&", NULL},
        {"sleep infinity", NULL},
        {"sleep $N && a", NULL},
        {"a && sleep 1000 && b", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(sleeps); i++) {
        struct read_options opts = {0};
        struct node at = node_of(sleeps[i].text);
        struct diags ds;
        struct rewrite rw = {a, &ds, &opts, NULL, &at};

        diags_init(&ds, a);
        ok(rewrite_start_sleep(&rw, sleeps[i].text) == sleeps[i].text, "3.8: kept: %s",
           sleeps[i].text);
        is_str(codes(a, &ds), sleeps[i].rest ? "W0403" : "", "3.8: told");
        opts.skip_start_sleep = true;
        opts.keep_text = true;
        is_str(rewrite_start_sleep(&rw, sleeps[i].text),
               sleeps[i].rest ? sleeps[i].rest : sleeps[i].text, "3.8: dropped on demand");
        diags_release(&ds);
    }
}

/* The scalar `k` of a document, and the place of NODE_RANK in it. */
static void test_places(struct arena *a)
{
    static const struct {
        const char *yaml;
        struct pos want;
    } places[] = {
        {"k: x NODE_RANK\n", {1, 6}},
        {"k: x\n  塔 NODE_RANK\n", {2, 5}},
        {"k: >-\n  x\n  NODE_RANK y\n", {3, 3}},
        {"k: > # comment\n\n\n    x   NODE_RANK\n", {4, 9}},
        {"k: |2\n    x \\\n  NODE_RANK\n", {3, 3}},
        {"k: >\r\n  x\r\n  NODE_RANK\r\n", {3, 3}},
        {"k: 'x NODE_RANK'\n", {1, 7}},
        {"k: \"x\n  NODE_RANK\"\n", {2, 3}},
        {"{\"k\": \"x NODE_RANK\"}", {1, 10}},
        /* an escape, a tag, an alias: the scalar's own place */
        {"k: \"\\x78 NODE_RANK\"\n", {1, 4}},
        {"k: 'it''s NODE_RANK'\n", {1, 4}},
        {"k: !!str x NODE_RANK\n", {1, 4}},
        {"j: &a x NODE_RANK\nk: *a\n", {2, 4}},
    };

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        const struct node *at;
        struct diags ds;
        struct doc doc;
        struct pos got;

        diags_init(&ds, a);
        yaml_read(a, "x", places[i].yaml, strlen(places[i].yaml), &ds, &doc);
        at = node_get(doc.roots[0], "k");
        got = rewrite_place(&doc, at, (size_t)(strstr(at->text, "NODE_RANK") - at->text));
        is_int(got.line, places[i].want.line, "line in %s", places[i].yaml);
        is_int(got.column, places[i].want.column, "column");
        ok(rewrite_place(NULL, at, 2).column == at->pos.column, "without a document");
        ok(rewrite_place(&doc, at, 1000).column == at->pos.column, "beyond the text");
        diags_release(&ds);
    }
}

/* A text that is not the scalar's (a dialect has put it together) has no place inside it. */
static void test_other_text(struct arena *a)
{
    static const char yaml[] = "k: x NODE_RANK\n";
    struct read_options opts = {0};
    struct diags ds;
    struct doc doc;
    struct rewrite rw = {a, &ds, &opts, &doc, NULL};

    diags_init(&ds, a);
    yaml_read(a, "x", yaml, strlen(yaml), &ds, &doc);
    rw.at = node_get(doc.roots[0], "k");
    rewrite_command(&rw, "cd y; x NODE_RANK");
    is_int(ds.v[0].pos.column, 4, "the scalar's place");
    rewrite_command(&rw, "x NODE_RANK");
    is_int(ds.v[1].pos.column, 6, "the word's place");
    diags_release(&ds);
}

int main(void)
{
    auto_arena struct arena *a = arena_new();

    test_commands(a);
    test_sleep(a);
    test_places(a);
    test_other_text(a);
    return tap_done();
}

/* command.c - fuzzes what is read out of a command's text and what is mended in it.
 *
 * Whatever the bytes are: no crash, no leak, words in order and inside the text, every finding with
 * a place, and a text that has been mended once needs it no more. `make fuzz T=60`. */
#include <string.h>

#include "common.h"
#include "dialect/mpirun.h"
#include "dialect/rewrite.h"
#include "dialect/shell_call.h"
#include "doc/yaml.h"

static void check_words(struct arena *a, const char *text)
{
    const struct shell_word *w;
    size_t n = shell_words(a, text, &w), at = 0, last = 0, len = strlen(text);
    struct shell_call call;
    struct mpirun_call counts;

    for (size_t i = 0; i < n; i++) {
        MUST(w[i].start >= last && w[i].end >= w[i].start && w[i].end <= len);
        last = w[i].end;
    }
    while (shell_call_next(w, n, &at, &call)) {
        MUST(call.n > 0 && call.words >= w && call.words + call.n <= w + n);
        shell_call_script(&call);
    }
    mpirun_in_shell(a, text, &counts);
    MUST(counts.np >= 0 && counts.per_node >= 0);
}

static void check_rewrite(struct rewrite *rw, const char *text)
{
    struct read_options opts = {.keep_text = true};
    const char *mended;
    size_t told;

    rw->opts = &opts;
    MUST(rewrite_command(rw, text) == text);
    told = rw->ds->n_warnings;
    opts.keep_text = false;
    mended = rewrite_command(rw, text);
    MUST(rw->ds->n_warnings == 2 * told && (mended != text) == (told > 0));
    MUST(rewrite_start_sleep(rw, text) == text);
    opts.skip_start_sleep = true;
    rewrite_start_sleep(rw, text);
    check_diags(rw->doc, rw->ds);
}

/* The input is the document; its scalar (or the whole input, if it has none) is the command. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena struct arena *a = arena_new();
    const char *text = arena_strndup(a, (const char *)data, size);
    struct node whole = {.type = NODE_STRING, .text = text, .len = strlen(text), .pos = {1, 1}};
    struct diags ds;
    struct doc doc;
    struct rewrite rw = {.a = a, .ds = &ds, .doc = &doc, .at = &whole};

    diags_init(&ds, a);
    yaml_read(a, "x", text, strlen(text), &ds, &doc);
    diags_release(&ds);
    diags_init(&ds, a);
    if (doc.n_roots && doc.roots[0]->type == NODE_STRING)
        rw.at = doc.roots[0];
    check_words(a, rw.at->text);
    check_rewrite(&rw, rw.at->text);
    diags_release(&ds);
    return 0;
}

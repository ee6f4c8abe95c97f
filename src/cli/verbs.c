/* verbs.c - the table of verbs, in the order in which `muster --help` shows them. */
#include "cli/cli.h"

const struct verb *const verbs[] = {
    &verb_run,      &verb_submit, &verb_serve, &verb_validate, &verb_explain, &verb_convert,
    &verb_generate, &verb_list,   &verb_show,  &verb_events,   &verb_logs,    &verb_wait,
    &verb_attach,   &verb_cancel, &verb_pause, &verb_resume,   &verb_exec,    &verb_rerun,
    &verb_delete,   &verb_prune,  &verb_open,  &verb_apply,    &verb_sim,     &verb_operator,
    &verb_schema,   &verb_doctor, &verb_help,  NULL,
};

/* record_parts.h - the tables that writing and reading a record share. Internal to journal/. */
#ifndef JOURNAL_RECORD_PARTS_H
#define JOURNAL_RECORD_PARTS_H

#include "job/fields.h"
#include "journal/record.h"

/* What of the facts and of OpenPAI's part matters after planning. */
struct record_rest {
    const char *engine, *run_id, *run_dir, *isolation, *program;
    int program_errno, launcher, world, pai;
};

struct record_role { /* what a mode of the file makes of a role's init commands */
    bool debug_skips_init, resume_skips_init;
};

extern const struct fields record_rules, record_spec, record_rest, record_role, record_modes,
    record_task, record_replica, record_process;

#endif

/* deploy.h - the files of deploy/base, as they are: tools/deploy makes the table for the build. */
#ifndef CLI_DEPLOY_H
#define CLI_DEPLOY_H

struct deploy_file {
    const char *name; /* "crds": of deploy/base/crds.yaml */
    const char *text; /* YAML, some documents */
};
extern const struct deploy_file deploy_files[]; /* in the order in which they are applied; ended by
                                                   a name of NULL */

#endif

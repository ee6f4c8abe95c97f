/* images.c - see images.h.
 *
 * Not here: root file systems. A replica would need its own view of the run's directories in there;
 * until then they are refused with that reason.
 */
#include "engine/local/images.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"

static bool has(const char *dir, const char *name)
{
    auto_free char *path = xasprintf("%s/%s", dir, name);

    return access(path, F_OK) == 0;
}

static int find_place(struct arena *a, const char *place, struct image_place *ret, struct err *e)
{
    char real[PATH_MAX];

    if (strcmp(place, "host") == 0) {
        *ret = (struct image_place){.mapped = true};
        return 0;
    }
    if (!realpath(place, real))
        return err_sys(e, -errno, "--image: cannot use %s", place);
    *ret = (struct image_place){
        .prefix = arena_strdup(a, real), .conda = has(real, "conda-meta"), .mapped = true};
    if (ret->conda || has(real, "pyvenv.cfg") || has(real, "bin/activate"))
        return 0;
    if (has(real, "etc") && (has(real, "usr/bin") || has(real, "bin/sh")))
        return err_set(e, -ENOTSUP,
                       "--image: %s is a root file system, which is not supported; use `host`, a "
                       "virtual environment or a conda environment",
                       place);
    if (has(real, "bin/python") || has(real, "bin/python3"))
        return 0;
    return err_set(e, -ENOTSUP,
                   "--image: %s is not a virtual or conda environment (no bin/activate, conda-meta "
                   "or bin/python in it)",
                   place);
}

/* What the job calls its images, for whoever misspelt one. */
static int unknown_image(const struct job_spec *spec, const char *name, struct err *e)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;

    for (size_t k = 0; k < spec->n_roles; k++) {
        const char *image = spec->roles[k].image;
        if (image &&
            (k == 0 || !spec->roles[k - 1].image || strcmp(spec->roles[k - 1].image, image) != 0))
            strbuf_addf(&sb, "%s%s", sb.len ? ", " : "", image);
    }
    return err_set(e, -EINVAL, "--image: no role uses image %s; the job uses %s", name,
                   sb.len ? sb.buf : "none");
}

/* One NAME=PLACE. Names may hold ":" and "@", never "=". */
static int map_one(struct arena *a, const struct job_spec *spec, const char *map,
                   struct image_place *places, struct err *e)
{
    const char *equals = strchr(map, '=');
    struct image_place place;
    bool used = false;

    if (!equals || equals == map || !equals[1])
        return err_set(e, -EINVAL, "--image must be NAME=host or NAME=DIRECTORY, not \"%s\"", map);
    const char *name = arena_strndup(a, map, (size_t)(equals - map));
    bool any = strcmp(name, "*") == 0;
    int r = find_place(a, equals + 1, &place, e);
    if (r < 0)
        return r;
    place.any = any;
    for (size_t k = 0; k < spec->n_roles; k++) {
        const char *image = spec->roles[k].image;
        bool mine = any ? !places[k].mapped || places[k].any : image && strcmp(image, name) == 0;
        if (mine)
            places[k] = place;
        used |= mine;
    }
    return used || any ? 0 : unknown_image(spec, name, e);
}

int images_map(struct arena *a, const struct job_spec *spec, const char *const *maps,
               const struct image_place **ret, struct err *e)
{
    struct image_place *places = ARENA_ARRAY(a, struct image_place, spec->n_roles + 1);
    int r = 0;

    for (; maps && *maps && r == 0; maps++)
        r = map_one(a, spec, *maps, places, e);
    if (r == 0)
        *ret = places;
    return r;
}

/* adjust_image.c - --image of convert: an image for roles that have none that a cluster could pull.
 */
#include <string.h>

#include "spec/adjust_parts.h"

bool spec_lacks_image(const struct role *role)
{
    return !role->image || strncmp(role->image, "azureml:", 8) == 0 || strchr(role->image, ' ');
}

static void set_image(struct adjuster *x, struct role *role, const char *image)
{
    if (role->image)
        change_add(x, SEV_NOTE, "%s: image %s instead of %s (--image)", role->name, image,
                   role->image);
    else
        change_add(x, SEV_NOTE, "%s: image %s (--image)", role->name, image);
    role->image = image;
}

static int image_for_all(struct adjuster *x, const char *image, struct err *e)
{
    size_t given = 0;

    for (size_t i = 0; i < x->spec->n_roles; i++)
        if (spec_lacks_image(&x->roles[i])) {
            set_image(x, &x->roles[i], image);
            given++;
        }
    if (given == 0)
        return err_set(e, -EINVAL,
                       "--image: every role has an image; use ROLE=NAME to override one");
    return 0;
}

int adjust_image(struct adjuster *x, struct err *e)
{
    for (size_t i = 0; x->adj->image && x->adj->image[i]; i++) {
        const char *text = x->adj->image[i], *equals = strchr(text, '=');
        const char *image = equals ? equals + 1 : text;
        struct role *role = NULL;
        int r = 0;

        if (strncmp(text, "*=", 2) == 0) {
            for (size_t k = 0; *image && k < x->spec->n_roles; k++)
                set_image(x, &x->roles[k], image);
            continue;
        }
        if (equals && !(role = role_wanted(x, "image",
                                           arena_strndup(x->a, text, (size_t)(equals - text)), e)))
            return -EINVAL;
        if (!*image || strpbrk(image, " \t\n"))
            return err_set(e, -EINVAL, "--image: \"%.80s\" is not a valid image name", image);
        if (role)
            set_image(x, role, image);
        else
            r = image_for_all(x, image, e);
        if (r < 0)
            return r;
    }
    return 0;
}

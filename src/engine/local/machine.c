/* machine.c - see machine.h. Everything is looked up in files: no program is asked. */
#include "engine/local/machine.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <pwd.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/num.h"
#include "base/strbuf.h"

/* Below this, a network card cannot pin the buffers of a training job. */
#define RDMA_MEMLOCK (INT64_C(64) << 20)

static int count_entries(const char *dir, bool (*counts)(const char *name))
{
    DIR *d = opendir(dir);
    struct dirent *ent;
    int n = 0;

    while (d && (ent = readdir(d)))
        n += ent->d_name[0] != '.' && counts(ent->d_name);
    if (d)
        (void)closedir(d);
    return n;
}

static bool is_anything(const char *name)
{
    (void)name;
    return true;
}

/* nvidia0, nvidia1, …: nvidiactl and nvidia-uvm are none */
static bool is_nvidia_device(const char *name)
{
    uint32_t number;

    return strncmp(name, "nvidia", strlen("nvidia")) == 0 &&
           num_u32(name + strlen("nvidia"), &number) == 0;
}

int machine_gpus(void)
{
    int n = count_entries("/proc/driver/nvidia/gpus", is_anything);

    return n > 0 ? n : count_entries("/dev", is_nvidia_device);
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

const char *const *machine_interfaces(struct arena *a)
{
    struct ifaddrs *list = NULL;
    size_t n = 0;

    if (getifaddrs(&list) < 0)
        list = NULL;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next)
        n++;
    const char **names = ARENA_ARRAY(a, const char *, n + 1);
    n = 0;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) /* one for each of its addresses */
        if (!is_listed(names, n, i->ifa_name))
            names[n++] = arena_strdup(a, i->ifa_name);
    freeifaddrs(list);
    return names;
}

const char *machine_user(struct arena *a)
{
    const struct passwd *pw = getpwuid(geteuid());

    return pw ? arena_strdup(a, pw->pw_name) : arena_printf(a, "%u", geteuid());
}

const char *machine_lacks_rdma(struct arena *a)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    struct rlimit memlock;
    char text[DURATION_TEXT];

    if (access("/dev/infiniband", F_OK) < 0)
        strbuf_addstr(&sb, "no /dev/infiniband");
    if (access("/etc/dat.conf", F_OK) < 0)
        strbuf_addf(&sb, "%sno /etc/dat.conf", sb.len ? ", " : "");
    if (getrlimit(RLIMIT_MEMLOCK, &memlock) == 0 && memlock.rlim_cur != RLIM_INFINITY &&
        memlock.rlim_cur < (rlim_t)RDMA_MEMLOCK)
        strbuf_addf(&sb, "%slocked memory is limited to %s (ulimit -l)", sb.len ? ", " : "",
                    bytes_text((int64_t)memlock.rlim_cur, text));
    return sb.len ? arena_strndup(a, sb.buf, sb.len) : NULL;
}

/* traffic.c - sock_diag, read as one dump; see traffic.h. */
#include "inspect/traffic.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/mem.h"

#define ANSWER_MS 1000 /* the kernel answers at once, or something is wrong */

struct carried {
    uint32_t inode;
    uint64_t bytes;
};

struct traffic {
    struct carried *v; /* by inode */
    size_t n, cap;
};

/* --- the kernel's answer -------------------------------------------------------------------------
 */

static int ask(int fd, int family)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {
        .head = {.nlmsg_len = sizeof(request),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.sdiag_family = (uint8_t)family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                 .idiag_states = ~0U},
    };

    return send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request) ? 0 : -errno;
}

/* An older kernel's tcp_info is shorter: what is missing is 0. */
static uint64_t bytes_in(const struct rtattr *a)
{
    struct tcp_info info = {0};
    size_t n = RTA_PAYLOAD(a);

    memcpy(&info, RTA_DATA(a), n < sizeof(info) ? n : sizeof(info));
    return info.tcpi_bytes_acked + info.tcpi_bytes_received;
}

static void take_socket(struct traffic *t, const struct nlmsghdr *h)
{
    const struct inet_diag_msg *m = NLMSG_DATA(h);
    int left = (int)h->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*m));

    for (const struct rtattr *a = (const struct rtattr *)(m + 1); RTA_OK(a, left);
         a = RTA_NEXT(a, left)) {
        if (a->rta_type != INET_DIAG_INFO || m->idiag_inode == 0)
            continue;
        GROW(t->v, t->n, t->cap);
        t->v[t->n++] = (struct carried){m->idiag_inode, bytes_in(a)};
    }
}

/* False when the dump is over. */
static bool take_messages(struct traffic *t, const void *data, size_t n)
{
    int left = (int)n;

    for (const struct nlmsghdr *h = data; NLMSG_OK(h, (unsigned)left); h = NLMSG_NEXT(h, left)) {
        if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
            return false;
        if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
            h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
            take_socket(t, h);
    }
    return true;
}

static void dump(struct traffic *t, int fd, int family)
{
    static char answer[64 * 1024] __attribute__((aligned(NLMSG_ALIGNTO)));
    bool goes_on = ask(fd, family) == 0;

    while (goes_on) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};

        if (poll(&pfd, 1, ANSWER_MS) <= 0)
            return;
        ssize_t n = recv(fd, answer, sizeof(answer), 0);
        goes_on = n > 0 && take_messages(t, answer, (size_t)n);
    }
}

static int by_inode(const void *x, const void *y)
{
    const struct carried *a = x, *b = y;

    return (a->inode > b->inode) - (a->inode < b->inode);
}

struct traffic *traffic_read(void)
{
    struct traffic *t = xcalloc(1, sizeof(*t));
    auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (fd < 0)
        return t;
    dump(t, fd, AF_INET);
    dump(t, fd, AF_INET6);
    if (t->n > 0)
        qsort(t->v, t->n, sizeof(*t->v), by_inode);
    return t;
}

void traffic_free(struct traffic *t)
{
    free(t->v);
    free(t);
}

/* --- processes -----------------------------------------------------------------------------------
 */

bool traffic_sees(pid_t pid, ino_t *ret_ns)
{
    char path[64];
    struct stat own, its;

    (void)snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    *ret_ns = 0;
    if (stat(path, &its) < 0 || stat("/proc/self/ns/net", &own) < 0)
        return false;
    *ret_ns = its.st_ino;
    return own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

static uint64_t bytes_of_fd(const struct traffic *t, int fds, const char *name)
{
    char link[64];
    ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);

    if (n < 0)
        return 0;
    link[n] = '\0';
    if (strncmp(link, "socket:[", strlen("socket:[")) != 0)
        return 0;
    struct carried key = {.inode = (uint32_t)strtoul(link + strlen("socket:["), NULL, 10)};
    const struct carried *found = bsearch(&key, t->v, t->n, sizeof(*t->v), by_inode);
    return found ? found->bytes : 0;
}

uint64_t traffic_of(const struct traffic *t, pid_t pid)
{
    char path[64];
    uint64_t sum = 0;
    struct dirent *ent;

    if (t->n == 0)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (ent = readdir(dir)))
        sum += bytes_of_fd(t, dirfd(dir), ent->d_name);
    if (dir)
        (void)closedir(dir);
    return sum;
}

/* Two lines "IpExt:", names and values, in the same order. */
uint64_t traffic_of_namespace(pid_t pid)
{
    auto_strbuf struct strbuf sb = STRBUF_INIT;
    char path[64], *save_name = NULL, *save_value = NULL;
    uint64_t sum = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/net/netstat", (int)pid);
    if (io_read_file(AT_FDCWD, path, 64 * 1024, &sb, NULL) < 0)
        return 0;
    char *names = strstr(sb.buf, "IpExt:"), *values = names ? strstr(names + 1, "IpExt:") : NULL;
    if (!values)
        return 0;
    values[-1] = '\0';
    values[strcspn(values, "\n")] = '\0';
    char *name = strtok_r(names, " ", &save_name), *value = strtok_r(values, " ", &save_value);
    while (name && value) {
        if (strcmp(name, "InOctets") == 0 || strcmp(name, "OutOctets") == 0)
            sum += strtoull(value, NULL, 10);
        name = strtok_r(NULL, " ", &save_name);
        value = strtok_r(NULL, " ", &save_value);
    }
    return sum;
}

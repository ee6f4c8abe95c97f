/* master.c - the connection to muster: lost, and for a shim that waits for its master, made again.
 *
 * A foreground run's shim ends with its muster. One that waits (SETUP_WAITS) listens on
 * SCRATCH/master.sock; whoever connects there as the run's user, while nobody else is connected,
 * and sends ATTACH, hears READY, then all that is true, and is its master from then on.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "shim/feed.h"
#include "shim/packet.h"
#include "shim/shim.h"

static bool is_gone(const struct link *l)
{
    char byte;

    return recv(l->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void master_lost(struct shim *s, const char *why)
{
    if (s->is_set_up)
        shim_record(s, clock_run(), "-", why, -1);
    if (s->pod || (s->waits_for_master && s->is_set_up)) {
        link_release(&s->link);
        s->link_wants_out = false;
        return;
    }
    s->over = true;
    s->exit_code = 1;
}

/* The master that is there is asked first: it may just have died. */
static void master_comes(struct shim *s, struct watch *w)
{
    auto_close int fd = accept4(s->master_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    uid_t uid = (uid_t)-1;

    (void)w;
    if (fd < 0 || packet_peer(fd, &uid) < 0 || uid != geteuid())
        return;
    if (s->link.fd >= 0 && is_gone(&s->link))
        master_lost(s, "muster is gone");
    if (s->link.fd >= 0)
        return;
    link_init(&s->link, TAKE_FD(fd));
    s->greeted = false;
    feed_stop(s);
    if (shim_watch(s, s->link.fd, &s->link_watch) < 0)
        link_release(&s->link);
}

int master_listen(struct shim *s, struct err *e)
{
    s->greeted = true; /* by the set-up itself */
    if (!s->waits_for_master || s->master_fd > 0)
        return 0;
    (void)unlinkat(s->scratch_fd, WIRE_MASTER_SOCKET, 0); /* an earlier attempt's */
    s->master_fd = stream_listen(s->scratch_fd, WIRE_MASTER_SOCKET);
    s->master_watch.ready = master_comes;
    if (s->master_fd < 0 || fchmodat(s->scratch_fd, WIRE_MASTER_SOCKET, 0600, 0) < 0 ||
        shim_watch(s, s->master_fd, &s->master_watch) < 0)
        return err_sys(e, s->master_fd < 0 ? s->master_fd : -errno,
                       "cannot listen on %s/" WIRE_MASTER_SOCKET, s->scratch_dir);
    return 0;
}

void master_close(struct shim *s)
{
    if (!s->waits_for_master || s->master_fd <= 0)
        return;
    (void)unlinkat(s->scratch_fd, WIRE_MASTER_SOCKET, 0);
    (void)close(s->master_fd);
}

int master_attach(struct shim *s, struct wire_reader *r)
{
    uint32_t version = wire_get_u32(r);
    struct err e;

    if (!s->waits_for_master || s->greeted || !wire_done(r))
        return -EPROTO;
    if (version != WIRE_VERSION) {
        (void)err_set(&e, -EPROTO,
                      "muster speaks version %u and the job's shim version %u: use the muster that "
                      "started it",
                      version, WIRE_VERSION);
        refuse_frame(s, &e);
        return link_flush(&s->link);
    }
    s->greeted = true;
    ready_frame(s);
    if (s->pod)
        feed_tell_all(s);
    else
        history_put(&s->history, &s->link.out);
    return 0;
}

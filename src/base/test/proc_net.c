/* proc_net.c - lines of the kernel's socket tables, as they stand there. */
#include "base/proc_net.h"

#include <arpa/inet.h>

#include "base/cleanup.h"
#include "base/tap.h"

static void test_four(void)
{
    struct tcp_line l;

    ok(proc_tcp_line("   0: 0100007F:1F90 0200007F:D431 01 0000000A:00000100 00:00000000 00000000 "
                     " 1000        0 4711 1 0000000000000000 20 4 30 10 -1\n",
                     &l),
       "a connection");
    ok(!l.local.six && l.local.word[0] == htonl(0x7f000001) && l.local.port == 8080, "its end");
    ok(l.far.word[0] == htonl(0x7f000002) && l.far.port == 54321, "the other");
    is_int(l.state, SOCKET_ESTABLISHED, "its state");
    is_int((long long)l.unsent, 10, "bytes to send");
    is_int((long long)l.unread, 256, "bytes to read");
    is_int(l.uid, 1000, "whose it is");
    is_int((long long)l.inode, 4711, "its inode");
}

static void test_six(void)
{
    struct tcp_line l;

    ok(proc_tcp_line("1: 0000000000000000FFFF00000100007F:0016 "
                     "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
                     "00000000 0 0 9 1",
                     &l),
       "a socket of IPv6 that listens");
    ok(!l.local.six && l.local.word[0] == htonl(0x7f000001), "a mapped address is one of IPv4");
    ok(l.far.six, "no address is none of IPv4");
    ok(l.state == SOCKET_LISTEN && l.local.port == 22 && l.inode == 9, "the rest of the line");
}

static void test_others(void)
{
    static const char *const none[] = {
        "",
        "\n",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n",
        "0: 0100007F 0200007F:D431 01",
        "0: 0100007F:1F90\n",
        "0: 0100007F00:1F90 0200007F:D431"};
    struct tcp_line l;

    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        ok(!proc_tcp_line(none[i], &l), "line %zu is no connection", i + 1);
    is_str(proc_net_word("a  b c", 2), "c", "a word by its number");
    is_str(proc_net_word("a b", 5), "", "or none");
}

int main(void)
{
    test_four();
    test_six();
    test_others();
    return tap_done();
}

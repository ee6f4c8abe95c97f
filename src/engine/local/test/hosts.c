/* hosts.c - the machine's names beside those of a job. */
#include "engine/local/hosts.h"

#include "base/tap.h"

static void adds(const char *job, const char *machine, const char *want, const char *what)
{
    auto_strbuf struct strbuf out = STRBUF_INIT;

    hosts_add_machine(&out, job, machine);
    is_str(out.len ? out.buf : "", want, "%s", what);
}

int main(void)
{
    adds("", "10.0.0.1 a b\n", "10.0.0.1 a b\n", "another name is kept");
    adds("127.1.0.1 worker-0\n", "10.0.0.1 worker-0\n10.0.0.2 nas\n", "10.0.0.2 nas\n",
         "a name of the job is left out");
    adds("127.1.0.1 worker-0\n", "10.0.0.1 node7 Worker-0 n7\n", "10.0.0.1 node7 n7\n",
         "the others of its line are kept; names have no case");
    adds("127.1.0.1 worker-0\n", "10.0.0.1 worker-01\n10.0.0.2 worker\n",
         "10.0.0.1 worker-01\n10.0.0.2 worker\n", "one that only begins alike is kept");
    adds("127.1.0.1 worker-0", "10.0.0.1\tx # worker-0\n# 10.0.0.9 y\n\n  10.0.0.2 z\r\n10.0.0.3",
         "10.0.0.1 x\n10.0.0.2 z\n", "comments, blanks, CRLF, an address alone");
    adds("127.0.0.1 localhost\n", "127.0.0.1 localhost\n", "", "nothing remains");
    adds("", "", "", "nothing there");
    return tap_done();
}

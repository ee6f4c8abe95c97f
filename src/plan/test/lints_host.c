/* lints_host.c - which commands of a job are told to change the machine. */
#include "plan/test/seed.h"

#define SAID "warning: the job changes this machine, not a container: "

static bool told(struct seed *s)
{
    return strstr(seed_notes(s), SAID);
}

static void test_commands(void)
{
    static const char *const changes[] = {
        "apt-get update && apt-get install -y ssh",
        "sudo -E apt install git",
        "pip install horovod",
        "pip3 --quiet install horovod",
        "python3 -m pip install horovod",
        "FLAG=1 pip install horovod",
        "pip uninstall -y x",
        "conda install -y x",
        "yum -y install x",
        "apk add x",
        "npm install -g x",
        "cd x && make install",
        "rm /usr/local/cuda/lib64/libcuda.so.1",
        "rm -rf /opt/$NAME",
        "mv data /data_cifar10",
        "cp a /usr/bin/",
        "ln -s /tmp/a /usr/lib/b",
        "sed -i s/a/b/ /etc/ssh/sshd_config",
        "echo x > /etc/motd",
        "echo x >>/etc/motd",
        "echo x | tee -a /etc/motd",
        "chmod 777 /mnt",
        "chown -R a:b /srv",
        "useradd x",
        "service ssh restart",
        "ldconfig",
    };
    static const char *const fine[] = {
        "apt-get update",
        "apt list --installed",
        "pip install --target lib x",
        "pip install -t lib x",
        "pip install --target=lib x",
        "pip install --user x",
        "pip list",
        "python3 -m venv e && . e/bin/activate && pip install x",
        "conda create -n x && pip install x",
        "conda install -n mine x",
        "npm install x",
        "make",
        "echo rm /usr/bin/x",
        "rm -rf data /tmp/x",
        "rm /data/out",
        "rm $DIR/x",
        "cp /etc/passwd here",
        "ln -s /usr/lib/x here",
        "sed s/a/b/ /etc/hosts",
        "echo x > /dev/null 2>&1",
        "cat < /etc/passwd",
        "chmod +x run.sh",
        "ldconfig -p",
    };
    struct seed s;

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        seed_openpai(&s, 2, changes[i]);
        s.spec.dir = "/data";
        ok(told(&s), "told: %s", changes[i]);
        arena_free(s.arena);
    }
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
        seed_openpai(&s, 2, fine[i]);
        s.spec.dir = "/data";
        ok(!told(&s), "not told: %s", fine[i]);
        arena_free(s.arena);
    }
}

static void test_where(void)
{
    static const char *const with_env[] = {"PATH=/bin", "HOME=/home/u", "VIRTUAL_ENV=/v", NULL};
    struct seed s;

    seed_openpai(&s, 2, "apt install x; rm /usr/x /etc/y");
    s.facts.machine.root = false;
    ok(!told(&s), "an ordinary user changes nothing of the system");
    arena_free(s.arena);

    seed_openpai(&s, 2, "rm -rf /home/u/.cache");
    s.facts.machine.root = false;
    ok(told(&s), "but files below HOME");
    arena_free(s.arena);

    seed_openpai(&s, 2, "pip install x");
    s.facts.caller.env = with_env;
    ok(!told(&s), "packages of a virtual environment are no part of the machine");
    arena_free(s.arena);

    seed_openpai(&s, 2, "apt install x");
    s.facts.site.overlay = true;
    ok(!told(&s), "nothing is changed under --overlay");
    has(seed_notes(&s), "note: --overlay: each replica has a writable layer",
        "that is told instead");
    arena_free(s.arena);
}

static void test_sentence(void)
{
    struct seed s;

    seed_openpai(&s, 2,
                 "apt install a\napt install b\napt install c\napt install d\napt install a");
    has(seed_notes(&s),
        SAID "`apt install a` (worker), `apt install b` (worker), `apt install c` (worker) and 1 "
             "more; use --overlay to discard its changes\n",
        "three are named, the rest is counted, each once");
    arena_free(s.arena);
}

int main(void)
{
    test_commands();
    test_where();
    test_sentence();
    return tap_done();
}

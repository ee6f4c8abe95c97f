/* launches.c - mpiruns of several pods: each has one number. */
#include "engine/kubernetes/launches.h"

#include "base/tap.h"
#include "engine/kubernetes/objects.h"

static struct launches all;

static uint32_t seen(uint32_t replica, uint32_t number, const char *origin, const char *id)
{
    return launches_number(&all, (struct launch_place){.replica = replica, .generation = 1},
                           &(struct frame_launch){.number = number, .origin = origin, .id = id},
                           true);
}

static uint32_t later(uint32_t replica, uint32_t generation, uint32_t number, const char *origin,
                      const char *id)
{
    return launches_number(
        &all, (struct launch_place){.replica = replica, .generation = generation},
        &(struct frame_launch){.number = number, .origin = origin, .id = id}, false);
}

static void test_subsets(void)
{
    is_int(seen(1, 1, "l/7/100", "a"), 1, "the first mpirun, its first pod");
    is_int(seen(2, 1, "l/7/100", "a"), 1, "its second pod");
    is_int(seen(2, 2, "l/9/200", "b"), 2, "the second mpirun does not use the first pod");
    is_int(seen(3, 1, "l/9/200", "b"), 2, "but a third, which sees its first");
    is_int(seen(1, 2, "l/11/300", "c"), 3, "the third mpirun uses the first pod again");
    is_int(later(2, 1, 1, "l/7/100", "a"), 1, "the end of a rank of the first");
    is_int(later(3, 1, 1, "l/9/200", "b"), 2, "and of the second");
    is_int(later(0, 1, 0, "l/9/200", ""), 2, "the end of the second mpirun, told by its own pod");
    is_int(later(0, 1, 0, "l/99/1", ""), 0, "an mpirun that nobody has ranks of");
    is_int(later(3, 1, 5, "l/99/1", "z"), 0, "a launch whose ranks have not started");
    is_int(later(3, 2, 1, "l/99/1", "z"), 0, "a pod that took another's place counts anew");
    launches_clear(&all);
    is_int(seen(1, 1, "l/7/100", "a"), 1, "another attempt");
    launches_clear(&all);
}

/* Hydra's id is a port, which may be free again. */
static void test_same_port(void)
{
    is_int(seen(1, 1, "l/7/100", "l:4000"), 1, "an mpirun at a port");
    is_int(seen(2, 1, "l/8/120", "l:4000"), 2, "the next at the same port, in another pod");
    is_int(seen(1, 2, "l/8/120", "l:4000"), 2, "and in the first");
    launches_clear(&all);
    is_int(seen(1, 1, "", "l:4000"), 1, "where its origin is not known");
    is_int(seen(2, 1, "", "l:4000"), 1, "the id has to do");
    is_int(seen(1, 2, "", "l:4000"), 2, "until a pod has seen it end");
    is_int(seen(2, 2, "", "l:4000"), 2, "both have");
    is_int(seen(3, 1, "l/7/100", "l:4000"), 2, "a pod that knows more");
    launches_clear(&all);
}

/* MPI_Comm_spawn(): one mpirun, several worlds. */
static void test_worlds(void)
{
    is_int(seen(1, 1, "l/7/100", "a.1"), 1, "a world");
    is_int(seen(1, 2, "l/7/100", "a.2"), 2, "another of the same mpirun");
    is_int(later(0, 1, 0, "l/7/100", ""), 2, "the newest counts");
    launches_clear(&all);
}

/* An mpirun that fails is told by its own pod, perhaps before other pods have told its ranks. */
static void test_without_ranks(void)
{
    is_int(seen(0, 0, "l/7/100", ""), 1, "an mpirun that failed, of which nobody has ranks yet");
    is_int(seen(1, 1, "l/7/100", "a"), 1, "a rank of it after all");
    is_int(seen(2, 1, "l/7/100", "a"), 1, "and in another pod");
    is_int(seen(1, 2, "l/7/100", "b"), 2, "but another world is another launch");
    is_int(seen(0, 0, "l/9/300", ""), 3, "another one");
    is_int(seen(0, 1, "", ""), 4, "one that has not asked for a daemon anywhere");
    is_int(seen(0, 2, "", ""), 5, "and once more");
    is_int(seen(1, 3, "l/11/400", "c"), 6, "they are not taken for others");
    launches_clear(&all);
}

/* Two pods, two clocks. */
static void test_blame(void)
{
    is_int(seen(1, 1, "l/7/100", "a"), 1, "a launch");
    is_int(launches_blamed(&all, 1, false, 500), 500, "an agent is gone");
    is_int(launches_blamed(&all, 1, true, 570), 499,
           "because mpirun was killed, which is told later");
    is_int(launches_blamed(&all, 1, false, 450), 500, "another agent");
    is_int(launches_blamed(&all, 2, true, 450), 450, "a launch that is not known");
    is_int(seen(1, 2, "l/8/200", "b"), 2, "another launch");
    is_int(launches_blamed(&all, 2, true, 800), 800, "its mpirun is killed");
    is_int(launches_blamed(&all, 2, false, 900), 900, "and its agents after it");
    launches_clear(&all);
}

/* What another muster reads. */
static void test_kept(void)
{
    auto_strbuf struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;

    (void)seen(1, 1, "l/7/100", "a");
    (void)seen(2, 1, "l/7/100", "a");
    (void)seen(2, 2, "l/9/200", "b c");
    (void)seen(3, 1, "l/11/300", "");
    is_int(all.seen, 4, "pairs of pod and number");
    launches_line(&text, 1, 1, (struct launch_place){.replica = 9, .generation = 1},
                  &(struct frame_launch){.number = 1, .origin = "old", .id = "old"});
    launches_write(&all, 2, &text);
    strbuf_addstr(&text, "2 9 1 1 1\tx\ty\nnonsense\n2 1 1 1\n2 1 7 1 1\tl/7");
    launches_clear(&all);
    launches_read(&all, 2, 2, text.buf);
    is_int(all.seen, 3, "those of the attempt that the journal knows");
    is_int(later(2, 1, 2, "l/9/200", "b c"), 2, "each has its number");
    is_int(seen(4, 1, "l/7/100", "a"), 1, "a pod that comes later knows the same mpirun");
    is_int(seen(3, 1, "l/12/400", "z"), 3, "what the journal does not know is counted anew");
    is_int(later(0, 1, 0, "l/9/200", ""), 2, "by its origin alone");
    launches_write(&all, 2, &again);
    is_str(again.buf,
           "2 1 1 1 1\tl/7/100\ta\n2 1 2 1 1\tl/7/100\ta\n2 1 4 1 1\tl/7/100\ta\n"
           "2 2 2 1 2\tl/9/200\tb c\n2 3 3 1 1\tl/12/400\tz\n",
           "and is written again");
    launches_clear(&all);
}

static void test_names(void)
{
    static const char first[] = "muster-1-worker-1";

    is_int(kube_pod_generation("muster-1-worker-1", first), 1, "the first pod of a replica");
    is_int(kube_pod_generation("muster-1-worker-1-g3", first), 3, "a later one");
    is_int(kube_pod_generation("muster-1-worker-11", first), 0, "another replica");
    is_int(kube_pod_generation("muster-1-worker-1-a2", first), 0, "another attempt");
    is_int(kube_pod_generation("muster-1-worker-1-g3x", first), 0, "another name");
    is_int(kube_pod_generation("muster-1-worker-1-g1", first), 0, "no name of ours");
}

int main(void)
{
    test_subsets();
    test_same_port();
    test_worlds();
    test_without_ranks();
    test_blame();
    test_kept();
    test_names();
    return tap_done();
}

/* random_walk.c - walkers on a ring of cells that is cut into one piece per rank.
 *
 *     random_walk DOMAIN MAX_STEPS WALKERS      (the example job runs: random_walk 20 40 2)
 *
 * Each rank starts WALKERS walkers on the first cell of its piece. Each walks 1 to MAX_STEPS random
 * steps, left or right; one that leaves a piece is sent to the neighbour and goes on there. When
 * none is left walking, the walkers that came to rest are counted: there must be as many as set
 * out.
 *
 * A walker carries its own random state, so where it ends does not depend on timing. It does depend
 * on the number of ranks, which decides where the walkers start.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEFT, RIGHT, SIDES };

struct walker {
    uint64_t random;
    int32_t cell, steps_left;
};

struct walkers {
    struct walker *v;
    int n;
};

struct piece {
    int rank, size;
    int domain, first, end; /* cells first … end-1 of domain are ours */
    int neighbour[SIDES];
    struct walkers here, leaving[SIDES];
    long at_rest, steps, received;
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void *make_room(void *v, size_t n)
{
    v = realloc(v, n ? n : 1);
    if (v == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return v;
}

static void add(struct walkers *ws, const struct walker *w)
{
    ws->v = make_room(ws->v, (size_t)(ws->n + 1) * sizeof(*w));
    ws->v[ws->n++] = *w;
}

static void set_out(struct piece *p, int walkers, int max_steps)
{
    for (int i = 0; i < walkers; i++) {
        struct walker w = {.random = (uint64_t)p->rank * (uint64_t)walkers + (uint64_t)i,
                           .cell = p->first};
        w.steps_left = 1 + (int32_t)(next_random(&w.random) % (uint64_t)max_steps);
        add(&p->here, &w);
    }
}

/* Every walker here walks until it comes to rest or leaves the piece. */
static void walk(struct piece *p)
{
    for (int i = 0; i < p->here.n; i++) {
        struct walker w = p->here.v[i];
        int side = SIDES;
        while (w.steps_left > 0 && side == SIDES) {
            int step = next_random(&w.random) & 1 ? 1 : -1;
            if (w.cell + step < p->first && p->size > 1)
                side = LEFT;
            else if (w.cell + step >= p->end && p->size > 1)
                side = RIGHT;
            w.cell = (w.cell + step + p->domain) % p->domain;
            w.steps_left--;
            p->steps++;
        }
        if (side == SIDES)
            p->at_rest++;
        else
            add(&p->leaving[side], &w);
    }
    p->here.n = 0;
}

/* Sends the walkers that left on one side and takes in those that arrive from the other. */
static void exchange(struct piece *p, int side)
{
    int to = p->neighbour[side], from = p->neighbour[!side], arriving = 0;
    struct walkers *out = &p->leaving[side], *here = &p->here;

    MPI_Sendrecv(&out->n, 1, MPI_INT, to, side, &arriving, 1, MPI_INT, from, side, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    here->v = make_room(here->v, (size_t)(here->n + arriving) * sizeof(struct walker));
    MPI_Sendrecv(out->v, out->n * (int)sizeof(struct walker), MPI_BYTE, to, side, here->v + here->n,
                 arriving * (int)sizeof(struct walker), MPI_BYTE, from, side, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    here->n += arriving;
    p->received += arriving;
    out->n = 0;
}

static long sum_of_all(long mine)
{
    long sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static bool parse(int argc, char **argv, long arg[3])
{
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        arg[i] = argc == 4 ? strtol(argv[i + 1], &end, 10) : 0;
        if (end == NULL || *end != '\0' || arg[i] < 1 || arg[i] > 1000000)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct piece p = {0};
    long arg[3];
    char host[256] = "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.size);
    if (!parse(argc, argv, arg) || arg[0] < p.size) {
        if (p.rank == 0)
            fprintf(stderr,
                    "usage: random_walk DOMAIN MAX_STEPS WALKERS (DOMAIN at least %d, the "
                    "number of ranks)\n",
                    p.size);
        MPI_Finalize();
        return 2;
    }
    p.domain = (int)arg[0];
    p.first = (int)(arg[0] * p.rank / p.size);
    p.end = (int)(arg[0] * (p.rank + 1) / p.size);
    p.neighbour[LEFT] = (p.rank + p.size - 1) % p.size;
    p.neighbour[RIGHT] = (p.rank + 1) % p.size;

    set_out(&p, (int)arg[2], (int)arg[1]);
    do {
        walk(&p);
        exchange(&p, LEFT);
        exchange(&p, RIGHT);
    } while (sum_of_all(p.here.n) > 0);

    gethostname(host, sizeof(host) - 1);
    printf(
        "rank %d of %d on %s: cells %d to %d, %ld walkers came by, %ld came to rest, %ld steps\n",
        p.rank, p.size, host, p.first, p.end - 1, p.received, p.at_rest, p.steps);

    long found = sum_of_all(p.at_rest), expected = arg[2] * p.size;
    if (p.rank == 0 && found != expected)
        fprintf(stderr, "random_walk: %ld walkers set out, %ld came to rest\n", expected, found);
    free(p.here.v);
    free(p.leaving[LEFT].v);
    free(p.leaving[RIGHT].v);
    MPI_Finalize();
    return found == expected ? 0 : 1;
}

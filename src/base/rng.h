/* rng.h - chance from a seed: the same seed gives the same course of events on every machine. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* A counter through a mixing function: every seed is a good one, 0 and neighbours included. */
static inline uint64_t rng_next(struct rng *r)
{
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = r->state;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint32_t rng_below(struct rng *r, uint32_t n) /* 0 … n-1; n > 0 */
{
    return (uint32_t)(rng_next(r) % n);
}

static inline int64_t rng_between(struct rng *r, int64_t from, int64_t to)
{
    return from + (int64_t)(rng_next(r) % (uint64_t)(to - from + 1));
}

static inline bool rng_chance(struct rng *r, uint32_t per_mille)
{
    return per_mille > 0 && rng_below(r, 1000) < per_mille;
}

#endif

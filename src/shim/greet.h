/* greet.h - the beginning of a connection between pods: both ends prove that they have the run's
 * key, which is never sent, by HMAC-SHA-256 over each other's fresh numbers.
 *
 *     who listens             who has connected
 *     its number        --->
 *                       <---  its number, its proof
 *     its proof         --->
 */
#ifndef SHIM_GREET_H
#define SHIM_GREET_H

#include <stdbool.h>

enum {
    PEER_KEY_BYTES = 32,
    GREET_NUMBER = 32,                              /* bytes of a fresh number */
    GREET_PROOF = 32,                               /* bytes of a proof */
    GREET_ANSWER_BYTES = GREET_NUMBER + GREET_PROOF /* of what the other end sends */
};

/* True: the other end has the key. These two block, as long as the socket allows. */
bool greet_ask(int sock, const unsigned char key[PEER_KEY_BYTES]);    /* we have connected */
bool greet_answer(int sock, const unsigned char key[PEER_KEY_BYTES]); /* we listen */

/* The same for whoever listens and must not block: the number to send first; then, of what has come
 * back, whether it proves the key, and what to send to prove ours. */
bool greet_number(unsigned char ret[GREET_NUMBER]);
bool greet_check(const unsigned char key[PEER_KEY_BYTES], const unsigned char number[GREET_NUMBER],
                 const unsigned char answer[GREET_ANSWER_BYTES], unsigned char ret[GREET_PROOF]);

/* A key from a file that has just that. */
bool greet_key(const char *file, unsigned char key[PEER_KEY_BYTES]);

#endif

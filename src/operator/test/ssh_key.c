/* ssh_key.c - key pairs, read again by ssh's own program where there is one, else by OpenSSL. */
#include "operator/ssh_key.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/base64.h"
#include "base/tap.h"

static const char begin[] = "-----BEGIN EC PRIVATE KEY-----\n";

/* The public half, as ssh-keygen tells it from the private one. */
static bool keygen_says(const char *private_half, char *out, size_t room)
{
    char path[] = "/tmp/muster-ssh-key-XXXXXX";
    char name[] = "ssh-keygen", y[] = "-y", f[] = "-f", *argv[] = {name, y, f, path, NULL};
    int fd = mkostemp(path, O_CLOEXEC), pipes[2], status = 1;
    posix_spawn_file_actions_t actions;
    ssize_t n = write(fd, private_half, strlen(private_half));
    pid_t pid;

    if (n < 0 || pipe2(pipes, O_CLOEXEC) < 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0)
        waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    n = status == 0 ? read(pipes[0], out, room - 1) : -1;
    out[n > 0 ? n : 0] = '\0';
    close(pipes[0]);
    close(fd);
    unlink(path);
    return n > 0;
}

/* Does the line end with the point that belongs to the private half? */
static void check_point(const char *private_half, const char *public_half)
{
    BIO *bio = BIO_new_mem_buf(private_half, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    unsigned char point[256];
    char blob[512], group[32] = "";
    const char *text = strchr(public_half, ' ') + 1;
    size_t n = 0, n_blob = 0;

    ok(key != NULL, "the private half is read again");
    EVP_PKEY_get_group_name(key, group, sizeof(group), NULL);
    is_str(group, "secp521r1", "it is on P-521");
    ok(EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &n),
       "it has a public half");
    is_int(base64_decode(text, strlen(text), blob, &n_blob), 0, "the line is base64");
    ok(n_blob > n && memcmp(blob + n_blob - n, point, n) == 0, "the line ends with the point");
    ok(memcmp(blob,
              "\0\0\0\x13"
              "ecdsa-sha2-nistp521"
              "\0\0\0\x08"
              "nistp521"
              "\0\0\0\x85\x04",
              40) == 0,
       "and begins with its names");
    EVP_PKEY_free(key);
    BIO_free(bio);
}

int main(void)
{
    auto_arena struct arena *a = arena_new();
    struct err e = {0};
    const char *private_half = NULL, *public_half = NULL, *again = NULL, *other = NULL;
    char said[512];

    is_int(ssh_key_make(a, &private_half, &public_half, &e), 0, "a pair");
    ok(strncmp(private_half, begin, strlen(begin)) == 0, "EC PRIVATE KEY");
    ok(strncmp(public_half, "ecdsa-sha2-nistp521 ", 20) == 0, "a line of authorized_keys");
    is_int(strcspn(public_half, "\n") + 1, (long long)strlen(public_half), "it is one line");
    check_point(private_half, public_half);
    is_int(ssh_key_make(a, &again, &other, &e), 0, "another");
    ok(strcmp(private_half, again) != 0 && strcmp(public_half, other) != 0, "is another");
    if (keygen_says(private_half, said, sizeof(said)))
        is_str(said, public_half, "ssh-keygen agrees");
    else
        ok(true, "ssh-keygen agrees # SKIP no ssh-keygen");
    return tap_done();
}

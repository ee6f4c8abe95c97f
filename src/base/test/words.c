/* words.c - the nearest word, signals by name, UTF-8. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/signame.h"
#include "base/tap.h"
#include "base/utf8.h"

static void test_nearest(void)
{
    static const char *const words[] = {"replicas", "extraMPIArgs", NULL,         "cmd",
                                        "template", "name",         "mpi-worker", "dockerImage",
                                        "minCount", "maxCount"};
    static const struct {
        const char *word, *want;
    } rows[] = {
        {"replcas", "replicas"},
        {"repilcas", "replicas"},
        {"replica", "replicas"},
        {"extraMpiArgs", "extraMPIArgs"},
        {"extra_mpi_args", "extraMPIArgs"},
        {"mpi_worker", "mpi-worker"},
        {"mpiworker", "mpi-worker"},
        {"cdm", "cmd"},
        {"templates", "template"},
        {"image", "dockerImage"},
        {"docker", "dockerImage"},
        {"count", NULL},
        {"args", NULL},
        {"gpuImages", NULL},
        {"replicasOfEachRole", "replicas"},
        {"namespace", NULL},
        {"foo", NULL},
        {"", NULL},
        {"aVeryLongWordThatIsLongerThanAnyKeyAnyoneWouldEverWriteIntoAJobFileXX", NULL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        is_str(nearest_word(rows[i].word, words, ARRAY_SIZE(words)), rows[i].want,
               "nearest to \"%s\"", rows[i].word);
}

static void test_signals(void)
{
    is_str(signal_name(SIGSEGV), "SIGSEGV", "a name");
    is_str(signal_words(SIGSEGV), "segmentation fault", "in words");
    is_str(signal_name(40), "signal 40", "one without a name");
    is_str(signal_name(-1), "unknown signal", "none");
    is_int(signal_number("SIGTERM"), SIGTERM, "by name");
    is_int(signal_number("TERM"), SIGTERM, "by short name");
    is_int(signal_number("SIGNONE"), -EINVAL, "by a wrong one");
}

static void test_utf8(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint32_t c;
    } rows[] = {
        {"a", 1, 'a'},
        {"\xc3\xa9", 2, 0xe9},
        {"\xe6\x97\xa5", 3, 0x65e5},
        {"\xf0\x9f\x98\x80", 4, 0x1f600},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
        {"\xc0\x80", 0, 0},
        {"\xe0\x80\x80", 0, 0},
        {"\xed\xa0\x80", 0, 0},
        {"\xf4\x90\x80\x80", 0, 0},
        {"\xf8\x88\x80\x80", 0, 0},
        {"\x80", 0, 0},
        {"\xe6\x97", 0, 0},
        {"\xff", 0, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint32_t c = 0;

        is_int(utf8_decode(rows[i].bytes, strlen(rows[i].bytes), &c), rows[i].len, "row %zu", i);
        is_int(c, rows[i].c, "its character");
    }
    is_int(utf8_width(0x65e5), 2, "a wide character");
    is_int(utf8_width(0x301), 0, "a combining one");
    is_int(utf8_width('a'), 1, "a letter");
    ok(utf8_is_control(0x202e) && utf8_is_control(0x9b) && utf8_is_control(127), "controls");
    ok(!utf8_is_control('a') && !utf8_is_control(0xe9), "others");
}

int main(void)
{
    test_nearest();
    test_signals();
    test_utf8();
    return tap_done();
}

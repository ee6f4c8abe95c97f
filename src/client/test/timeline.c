/* The journal in words: what is shown, what is left out, and lines that are none. */
#include "client/timeline.h"

#include <stdio.h>
#include <string.h>

#include "base/tap.h"

/* The words of one line, without the time; "" if there is no line. */
static const char *words(const char *journal, bool happened)
{
    static char text[512];
    auto_strvec struct strvec lines = STRVEC_INIT;

    timeline_words(journal, strlen(journal), happened, &lines);
    text[0] = '\0';
    if (lines.n == 1)
        (void)snprintf(text, sizeof(text), "%s", strstr(lines.v[0], "  ") + 2);
    return text;
}

int main(void)
{
    auto_strvec struct strvec lines = STRVEC_INIT;
    const char *two =
        "{\"at\":1,\"event\":\"created\"}\n{\"at\":2,\"event\":\"ended\"}\n{\"at\":3,";

    is_str(words("{\"at\":1,\"event\":\"exited\",\"who\":\"worker-1/"
                 "3\",\"process\":3,\"exit_code\":7}\n",
                 true),
           "exited        worker-1/3  exit code 7", "an exit code");
    is_str(
        words(
            "{\"at\":1,\"event\":\"exited\",\"who\":\"w-0\",\"signal\":\"SIGKILL\",\"oom\":true}\n",
            true),
        "exited        w-0  SIGKILL  out of memory", "a signal, and why");
    is_str(words("{\"at\":1,\"event\":\"exited\",\"who\":\"w-0\",\"exit_code\":null}\n", true),
           "exited        w-0  exit status unknown", "an end nobody saw");
    is_str(words("{\"at\":1,\"event\":\"start-failed\",\"errno\":2,\"what\":\"exec\"}\n", true),
           "start-failed  exec: No such file or directory", "what could not be executed");
    is_str(
        words("{\"at\":1,\"event\":\"attempt\",\"attempt\":2,\"counted\":true,\"retry\":false}\n",
              true),
        "attempt       number 2  counts against the retry limit", "a further attempt");
    is_str(words("{\"at\":1,\"event\":\"new\",\"colour\":\"red\",\"size_of\":3}\n", true),
           "new           colour red  size of 3", "words that are not known here");
    is_str(words("{\"at\":1,\"event\":\"exited\",\"exit_code\":1,\"by_itself\":true,"
                 "\"memory_limit\":67108864,\"memory_peak\":-1}\n",
                 true),
           "exited        exit code 1  memory limit 64 MiB", "keys of the record have words");
    is_str(words("{\"at\":1,\"event\":\"start-failed\",\"errno\":125,\"what\":\"\"}\n", true),
           "start-failed  the job was stopped before it started",
           "what a cancel kept from starting");
    is_str(words("{\"at\":1,\"event\":\"start\",\"who\":\"w-0\"}\n", true), "",
           "a decision is left out of what happened");
    is_str(words("{\"at\":1,\"event\":\"start\",\"who\":\"w-0\"}\n", false), "start         w-0",
           "and is there otherwise");
    is_str(words("{\"at\":1,\"event\":\"x\",\"who\":\"\\u001b[31m\"}\n", true),
           "x             \\x1b[31m", "nothing acts on a terminal");
    timeline_words(two, strlen(two), true, &lines);
    is_int(lines.n, 2, "a line that is not complete is left out");
    is_str(words("nonsense\n[]\n\n{\"at\":\"x\"}\n", false), "", "what is no event is no line");
    return tap_done();
}

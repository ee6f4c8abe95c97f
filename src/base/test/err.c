/* err.c - errors are formatted, wrapped and cut, never lost. */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/tap.h"

int main(void)
{
    char long_text[2 * LIMIT_ERR_TEXT];
    struct err e = {0};

    is_int(err_set(&e, -ENOENT, "no %s here", "shim"), -ENOENT, "err_set gives the code back");
    is_str(e.text, "no shim here", "and formats the text");
    is_int(err_wrap(&e, -EINVAL, "cannot prepare %d", 3), -EINVAL, "err_wrap gives its code back");
    is_str(e.text, "cannot prepare 3: no shim here", "and puts the context in front");
    is_int(e.code, -EINVAL, "and stores its code");
    err_sys(&e, -EACCES, "cannot open %s", "x");
    is_str(e.text, "cannot open x: Permission denied", "err_sys adds the system's words");

    memset(long_text, 'a', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    err_set(&e, -EIO, "%s", long_text);
    is_int(strlen(e.text), LIMIT_ERR_TEXT - 1, "too long a text is cut");
    is_str(e.text + LIMIT_ERR_TEXT - 5, "a...", "and marked");
    err_wrap(&e, -EIO, "%s", "outer");
    has(e.text, "outer: aaa", "a full text can be wrapped");
    err_wrap(&e, -EIO, "%s", long_text);
    is_str(e.text + LIMIT_ERR_TEXT - 5, "a...", "also with a context that leaves no room");

    is_int(err_set(NULL, -EIO, "x"), -EIO, "without an err the code is kept");
    is_int(err_sys(NULL, -EIO, "x"), -EIO, "by err_sys");
    is_int(err_wrap(NULL, -EIO, "x"), -EIO, "by err_wrap");
    return tap_done();
}

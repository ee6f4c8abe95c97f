/* tap.h - unit tests that speak TAP. One program per test file; prove reads it.
 *
 *     int main(void) { ok(1 + 1 == 2, "sums"); is_int(f(3), 9, "f(%d)", 3); return tap_done(); }
 */
#ifndef BASE_TAP_H
#define BASE_TAP_H

#include <stdbool.h>

bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool tap_is_int(long long got, long long want, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool tap_is_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool tap_has(const char *text, const char *part, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void tap_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tap_skip_all(const char *why) __attribute__((noreturn));
int tap_done(void); /* prints the plan; 0 if all passed and there was at least one test, else 1 */

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                                                     \
    tap_is_int((long long)(got), (long long)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define has(text, part, ...) tap_has((text), (part), __FILE__, __LINE__, __VA_ARGS__)

#endif

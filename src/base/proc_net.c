/* proc_net.c - see proc_net.h. */
#include "base/proc_net.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

const char *proc_net_word(const char *line, int k)
{
    line += strspn(line, " ");
    for (; k > 0; k--) {
        line += strcspn(line, " \n");
        line += strspn(line, " ");
    }
    return line;
}

/* "0100007F:1F90": words of 32 bits as the machine stores them, then the port. */
static bool parse_end(const char *text, struct tcp_end *ret)
{
    size_t digits = strcspn(text, ": \n");

    *ret = (struct tcp_end){.six = digits == 32};
    if ((digits != 8 && !ret->six) || text[digits] != ':')
        return false;
    for (size_t i = 0; i < digits / 8; i++) {
        char part[9];

        memcpy(part, text + i * 8, 8);
        part[8] = '\0';
        ret->word[i] = (uint32_t)strtoul(part, NULL, 16);
    }
    if (ret->six && ret->word[0] == 0 && ret->word[1] == 0 && ret->word[2] == htonl(0xffff)) {
        ret->word[0] = ret->word[3];
        ret->six = false;
    }
    ret->port = (unsigned)strtoul(text + digits + 1, NULL, 16);
    return true;
}

/* "0: LOCAL FAR STATE TX:RX TR:TM RETRANSMIT UID TIMEOUT INODE …" */
bool proc_tcp_line(const char *line, struct tcp_line *ret)
{
    char *end;

    *ret = (struct tcp_line){0};
    if (!parse_end(proc_net_word(line, 1), &ret->local) ||
        !parse_end(proc_net_word(line, 2), &ret->far))
        return false;
    ret->state = (unsigned)strtoul(proc_net_word(line, 3), NULL, 16);
    ret->unsent = strtoul(proc_net_word(line, 4), &end, 16);
    ret->unread = *end == ':' ? strtoul(end + 1, NULL, 16) : 0;
    ret->uid = (unsigned)strtoul(proc_net_word(line, 7), NULL, 10);
    ret->inode = strtoul(proc_net_word(line, 9), NULL, 10);
    return true;
}

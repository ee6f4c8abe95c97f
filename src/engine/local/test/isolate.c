/* isolate.c - which network a job of level `network` gets. */
#include "engine/local/isolate.h"

#include "base/tap.h"

#define HEAD "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
#define ROUTE(destination, mask)                                                                   \
    "eth0\t" destination "\t00000000\t0001\t0\t0\t0\t" mask "\t0\t0\t0\n"

int main(void)
{
    is_int(isolation_network(""), 0x0a4d0000, "10.77.0.0 where nothing is known");
    is_int(isolation_network(HEAD ROUTE("00000000", "00000000")), 0x0a4d0000,
           "the default route is no reason");
    is_int(isolation_network(HEAD ROUTE("00004D0A", "0000FFFF")), 0x0a4e0000,
           "the next if there is a route to it");
    is_int(isolation_network(HEAD ROUTE("05004D0A", "FFFFFFFF") ROUTE("00004E0A", "00FFFFFF")),
           0x0a4f0000, "or to a part of it");
    is_int(isolation_network(HEAD ROUTE("0000400A", "0000C0FF")), 0x0a800000, "or to more than it");
    is_int(isolation_network(HEAD ROUTE("0000000A", "000000FF")), 0x0a4d0000,
           "where all are taken it does not matter");
    return tap_done();
}

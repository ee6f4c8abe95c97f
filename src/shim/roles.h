/* roles.h - the roles of muster-shim. Each gets argv[0] = its own name and returns an exit code. */
#ifndef SHIM_ROLES_H
#define SHIM_ROLES_H

int supervise_main(int argc, char **argv);
int probe_main(int argc, char **argv);
int agent_main(int argc, char **argv);
int rank_main(int argc, char **argv);
int mpirun_main(int argc, char **argv);
int pod_main(int argc, char **argv);
int peer_main(int argc, char **argv);
int connect_main(int argc, char **argv);
int exec_main(int argc, char **argv);
int host_main(int argc, char **argv);
int kubexec_main(int argc, char **argv);
int launch_main(int argc, char **argv);
int record_main(int argc, char **argv);
int try_main(int argc, char **argv);

#endif

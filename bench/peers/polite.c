// polite.so is preloaded into an MPI program, whose ranks spin while they wait. With
// many ranks on few cores a rank that spins on sched_yield holds the CPU that the
// others' packets need; on hosts of their own it would hold only its own. Here each
// eighth yield sleeps for 20 us.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int sched_yield(void) {
    static __thread unsigned n;
    if (++n % 8) return syscall(SYS_sched_yield);
    struct timespec t = {0, 20000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0);
    return 0;
}

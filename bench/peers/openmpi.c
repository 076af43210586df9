// openmpi JOB... - see frame.h. Operations: broadcast gather reduce allreduce roundtrip.
#include "frame.h"
#include <mpi.h>

// A rank that is done must still move its library along for the others, but must not
// hold the CPU that they need.
static void leave(void) {
    MPI_Request r;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &r);
    while (MPI_Test(&r, &done, MPI_STATUS_IGNORE), !done) usleep(200);
}

int main(int argc, char **argv) {
    int r, n;
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &r);
    MPI_Comm_size(all, &n);
    frame_init(r, n);
    for (int a = 1; a < argc; a++) {
        struct job j = parse_job(argv[a]);
        long count = j.size / 4;
        int gather = !strcmp(j.op, "gather"), allreduce = !strcmp(j.op, "allreduce");
        long room = gather && rank == 0 ? j.size * n : j.size;
        float *in = malloc(j.size), *out = malloc(room);
        if (!in || !out) fail("malloc");
        for (int run = -1; run < j.runs; run++) {
            for (long i = 0; i < count; i++) in[i] = rank + 1;
            memset(out, 0, room);
            run_begin(j.interval);
            if (!strcmp(j.op, "broadcast")) MPI_Bcast(in, count, MPI_FLOAT, 0, all);
            else if (gather) MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, all);
            else if (!strcmp(j.op, "reduce")) MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, all);
            else if (allreduce) MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, all);
            else if (!strcmp(j.op, "roundtrip") && rank == 0) {
                MPI_Send(in, count, MPI_FLOAT, 1, 0, all);
                MPI_Recv(out, count, MPI_FLOAT, 1, 0, all, MPI_STATUS_IGNORE);
            } else if (!strcmp(j.op, "roundtrip") && rank == 1) {
                MPI_Recv(out, count, MPI_FLOAT, 0, 0, all, MPI_STATUS_IGNORE);
                MPI_Send(in, count, MPI_FLOAT, 0, 0, all);
            }
            run_end();
            leave();
            float sum = n * (n + 1) / 2.0f;
            if (!strcmp(j.op, "broadcast")) check(j.op, in, count, 1);
            if (allreduce || (!strcmp(j.op, "reduce") && rank == 0)) check(j.op, out, count, sum);
            if (gather && rank == 0)
                for (int i = 0; i < n; i++) check(j.op, out + i * count, count, i + 1);
            if (!strcmp(j.op, "roundtrip") && rank < 2) check(j.op, out, count, 2 - rank);
            run_report(j.op, j.size, j.interval, run);
        }
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}

// frame.h - the common part of the peers' programs.
//
// The hosts are network namespaces of one machine, so that ranks can meet in shared
// memory: they block on futexes there, and only the measured library touches the
// network. All ranks read one clock, CLOCK_MONOTONIC.
//
// One run: all ranks meet; rank 0 chooses an instant T shortly ahead; rank i sleeps
// until T + i * interval, does its part, and notes when it had finished. Then rank 0
// prints a line:
//   op n size interval_ms run last_ms root_ms late_ms
// last: from T until the last rank had finished; root: until rank 0 had; late:
// until the last rank had woken. Run -1 warms up, and is not printed.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 256 };

struct meeting {
    pthread_barrier_t barrier;
    double T, start[MAX_RANKS], end[MAX_RANKS];
};

static struct meeting *meeting;
static int rank, ranks;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void sleep_until(double when) {
    struct timespec t;
    t.tv_sec = (time_t)when;
    t.tv_nsec = (long)((when - t.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

static void meet(void) { pthread_barrier_wait(&meeting->barrier); }

static void fail(const char *what) {
    perror(what);
    exit(2);
}

// frame_init has the ranks meet in the file that BENCH_MEETING names.
static void frame_init(int r, int n) {
    const char *path = getenv("BENCH_MEETING");
    char made[512];
    int fd;
    rank = r;
    ranks = n;
    if (!path || n > MAX_RANKS) {
        fprintf(stderr, "BENCH_MEETING is not set, or %d are more than %d ranks\n", n, MAX_RANKS);
        exit(2);
    }
    if (rank == 0) {
        snprintf(made, sizeof made, "%s.new", path);
        fd = open(made, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof *meeting)) fail(made);
    } else {
        while ((fd = open(path, O_RDWR)) < 0) usleep(10000);
    }
    meeting = (struct meeting *)mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (meeting == MAP_FAILED) fail("mmap");
    close(fd);
    if (rank == 0) {
        pthread_barrierattr_t a;
        pthread_barrierattr_init(&a);
        pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
        pthread_barrier_init(&meeting->barrier, &a, n);
        if (rename(made, path)) fail(path);
    }
    meet();
}

static void run_begin(double interval) {
    meet();
    if (rank == 0) meeting->T = now() + 0.06;
    meet();
    sleep_until(meeting->T + rank * interval);
    meeting->start[rank] = now();
}

static void run_end(void) { meeting->end[rank] = now(); }

static void run_report(const char *op, long size, double interval, int run) {
    meet();
    if (rank == 0 && run >= 0) {
        double last = 0, late = 0, T = meeting->T;
        for (int i = 0; i < ranks; i++) {
            if (meeting->end[i] - T > last) last = meeting->end[i] - T;
            if (meeting->start[i] - T > late) late = meeting->start[i] - T;
        }
        printf("%s %d %ld %g %d %.4f %.4f %.4f\n", op, ranks, size, interval * 1e3, run, last * 1e3,
               (meeting->end[0] - T) * 1e3, late * 1e3);
        fflush(stdout);
    }
    meet();
}

// A job is op:size:runs:interval_ms, with the size in bytes.
struct job {
    char op[32];
    long size;
    int runs;
    double interval;
};

static struct job parse_job(const char *s) {
    struct job j;
    double ms = 0;
    memset(&j, 0, sizeof j);
    if (sscanf(s, "%31[^:]:%ld:%d:%lf", j.op, &j.size, &j.runs, &ms) != 4) {
        fprintf(stderr, "bad job %s\n", s);
        exit(2);
    }
    j.interval = ms / 1e3;
    return j;
}

static void check(const char *op, const float *v, long n, float want) {
    for (long i = 0; i < n; i++)
        if (v[i] != want) {
            fprintf(stderr, "%s, rank %d: element %ld is %g, not %g\n", op, rank, i, v[i], want);
            exit(3);
        }
}

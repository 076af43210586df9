// Prints at how many bytes per second a[i] += b[i] goes for two arrays of
// float32: the median of rounds. Usage: sum BYTES ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void sum(float *restrict a, const float *restrict b, size_t n) {
	for (size_t i = 0; i < n; i++)
		a[i] += b[i];
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int less(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	if (argc != 3)
		return 1;
	size_t bytes = strtoull(argv[1], 0, 10), n = bytes / sizeof(float);
	int rounds = atoi(argv[2]);
	float *a = aligned_alloc(64, bytes), *b = aligned_alloc(64, bytes);
	double *took = malloc(rounds * sizeof *took);
	if (!a || !b || !took || rounds < 1)
		return 1;
	for (size_t i = 0; i < n; i++) // also touches the memory
		a[i] = b[i] = 1;
	for (int r = 0; r < rounds; r++) {
		double began = now();
		sum(a, b, n);
		took[r] = now() - began;
	}
	qsort(took, rounds, sizeof *took, less);
	if (a[n / 2] < 1) // nothing was left out
		return 1;
	printf("%.0f\n", bytes / took[rounds / 2]);
	return 0;
}

// Package training trains the classifier of package digits on a cluster, with
// actors of the application that talk to their nodes' stores: data-parallel,
// and in each round with the first few gradients that are ready.
//
//	a worker per node   gets the weights of a round, computes the gradient on
//	                    its part of the samples, puts it, and goes on to the next
//	one trainer         puts the weights, reduces the first Num gradients, checks
//	                    the sum, makes a step, deletes what the round has left
//
// Workers and trainer meet in the store only: objects are named for their
// round, so that a worker that is late, or starts anew after a panic, finds the
// present round by itself: the weights of those before are deleted. A worker
// that cannot go on says so to the trainer and ends; the trainer goes on as long
// as enough are left.
//
// Every wait has a deadline, and every sum is compared with one that the trainer
// computes from exactly the gradients that the reduce reports.
package training

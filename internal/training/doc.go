// Package training trains the classifier of package digits on a cluster, with
// actors of the application that use their nodes' stores. The training is
// data-parallel, and each round uses the first few gradients that are ready.
//
//	a worker per node   gets the weights of a round, computes the gradient on
//	                    its part of the samples, puts it, and goes on to the next
//	one trainer         puts the weights, reduces the first Num gradients, checks
//	                    the sum, makes a step, deletes the objects of the round
//
// Workers and trainer meet in the store only. Objects are named for their round,
// and the trainer deletes the weights of past rounds: so a worker that is late, or
// starts anew after a panic, finds the present round by itself. A worker that
// cannot go on tells the trainer and ends; the trainer goes on as long as enough
// workers are left.
//
// Every wait has a deadline. The trainer compares every sum with one that it computes
// from exactly the gradients that the reduce reports.
package training

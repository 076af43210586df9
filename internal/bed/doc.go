// Package bed builds hosts on one Linux machine, for tests and measurements
// that need real links: each host is a network namespace with one interface and
// address. A bridge in a namespace of its own joins them, so that the machine's
// network does not show the bed. Links run at a rate, and can be cut and slowed down
// while programs use them.
//
// It needs root and the commands ip, tc and nft: see Missing. A bed has the name of
// the process that made it, so that several can exist at the same time, and New
// removes the beds of processes that have ended. A Bed is not for concurrent use.
package bed

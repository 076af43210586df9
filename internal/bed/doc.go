// Package bed builds hosts on one Linux machine, for tests and measurements
// that need real links: each host is a network namespace with one interface and
// address, joined by a bridge in a namespace of its own, so that nothing of it
// shows in the machine's network. Links run at a rate, and can be cut and slowed
// down while programs use them.
//
// It needs root and the commands ip, tc and nft: see Missing. A bed is named
// after the process that made it, so that several can exist at the same time,
// and New removes what processes left behind that have ended. A Bed is
// not for concurrent use.
package bed

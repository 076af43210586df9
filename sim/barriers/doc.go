// Package barriers simulates the partial barriers of a cluster: the cores of all
// nodes in one goroutine, over a network that drops, doubles, delays and reorders,
// with nodes that crash, hang and are cut off. Views are agreed, as they are in the
// real cluster, and reach each node when they do; a node that is cut off is removed
// when its lease has ended, not before. After every step what the barriers promise
// is checked. The seed is all that a run depends on.
package barriers

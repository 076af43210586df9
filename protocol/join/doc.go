// Package join decides how a node comes into a cluster, by one set of seeds that all nodes
// are given and that may name the node itself.
//
//	asking ──a seed is a member──▶ entering ──the view has it──▶ young ──▶ ready
//	   └──a majority of the seeds has promised to join it──▶ booting ──▶ young
//
// A node asks all its seeds, again and again. A seed that is a member tells the view, and the
// node enters its cluster. Where none is a member, the seeds choose a seed that begins a
// cluster: each promises to join one, and the seed to which a majority has promised boots.
// A node that is no seed waits. Without seeds a node boots at once.
//
// A cluster is young until the node that has begun it finds that a majority of the seeds are
// its members; no node serves before that. So a seed that boots and is cut off from the others
// has no data that they could contradict if they begin another cluster. A node of a young
// cluster that hears of a ready one abandons its own, and joins that.
//
// Guarantee: as long as no seed that has promised or joined is started anew, at most one
// cluster of the same seeds becomes ready. A majority of the seeds that start anew while all
// others are cut off begin another one: all is in memory, and nothing could tell them.
//
// Hosts: cluster/internal/membership, sim.
package join

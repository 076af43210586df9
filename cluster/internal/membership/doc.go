// Package membership hosts the core that agrees on views: it brings its messages
// to the other members, lets the node join and leave, and tells the node of
// every new view and of its lease.
//
// The core lies outside of the actor that hosts it, since a voter that forgot
// its vote could elect two leaders: an actor that panics goes on with the same
// core, and carries out its remaining effects. If the core itself
// panicked, its memory cannot be trusted. Then it is never used again,
// and the node is fenced; it can join as a new incarnation.
package membership

// Package member decides what a member of a cluster does with a new view: in which order its
// parts hear of it, with which nodes it breaks, and which changes it tells. It also
// decides which messages of others a member brings to their receivers, what a member answers to
// a node that asks to join, and which findings about the majority of the voters are news.
//
// Package cluster and its membership do it, and so does package sim.
//
// Hosts: barrier, cluster, cluster/internal/membership, group, sim, sim/barriers, sim/groups.
package member

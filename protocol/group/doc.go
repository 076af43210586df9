// Package group is the core of groups that can be revoked: who is in one, the wave by
// which a member interrupts all others, and agreement among those that are left.
//
// A group is a list of members, each with a rank. A member is on a node, of which
// more than one may be. Core is a node's part in all groups.
//
// A revoke runs over the binomial graph of the ranks (ULFM, "Logarithmic Revoke
// Routine"): who hears of it for the first time tells its neighbours, and then
// delivers it. Since up to degree−1 failures leave the graph connected, all live
// members hear of it if one of them does. Ranks of one node are told in one message,
// which is repeated until it is acknowledged.
//
// Form, Agree, Shrink and Grow are agreements: each member contributes, the node of
// the lowest live rank makes a decision of what all live members have contributed, has
// every live node accept it, and tells it. Its term is the number of the view, and
// nobody accepts what is of an earlier view than its own. A coordinator of a later view
// proposes what it has accepted itself, if it has: without that nothing was decided
// before, and nothing will be.
//
// Hosts: group, sim/groups.
package group

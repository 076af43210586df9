// Package group is the core of groups that can be revoked: their members, the wave by
// which a member interrupts all others, and agreement among the survivors.
//
// A group is a list of members, each with a rank. Each is on a node, and several may be
// on one. Core is a node's part in all groups.
//
// A revoke runs over the binomial graph of the ranks (ULFM, "Logarithmic Revoke
// Routine"): a rank that hears of it for the first time tells its neighbours, and then
// delivers it. Since up to degree−1 failures leave the graph connected, all live
// members hear of it if one of them does. Ranks of one node get one message,
// which is repeated until it is acknowledged.
//
// Form, Agree, Shrink and Grow are agreements: each member contributes, the node of
// the lowest live rank makes a decision of the contributions of all live members, has
// every live node accept it, and tells it. Its term is the number of the view, and
// no node accepts a proposal of an earlier view than its own. A coordinator of a later
// view proposes the decision that it has accepted itself, if it has: otherwise nothing
// was decided before, and nothing will be.
//
// Hosts: group, sim/groups.
package group

// Package workflow decides, for one node, what stands between the cores of protocol/workflow, the ledger and the
// other nodes:
//
//   - Tenure is a controller with its rows in the ledger's form: it reads what is active as the tenure begins, encodes
//     what is written, and answers the requests of clients;
//   - Member is an executor that fetches recorded outputs which are too many for an order;
//   - Caller has the calls of this node's clients reach the node that leads, and repeats them;
//   - ActorCaller has the calls of this node's attempts reach the nodes on which actors live, and ActorHost answers those to the
//     actors here, each once and only at the version that it names;
//   - Seats decide for one attempt how it claims, restores and makes actors, and what is left of them once it has ended;
//   - Restorer has the objects of checkpoints put again by nodes that have these;
//   - Cut and Joiner take letters apart that are too long for one message, and put them together.
//
// A Caller guarantees that each call ends once: with the controller's answer, or with an error that says which node has
// not answered or why none could. A call that is repeated has the same key, so that it takes effect once.
//
// Hosts: workflow, sim/workflows.
package workflow

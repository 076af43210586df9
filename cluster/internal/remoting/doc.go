// Package remoting carries control messages between the actors of nodes, over
// gRPC.
//
// It speaks the protocol of proto.actor's remote package, with its generated
// code, but does not use that package's Remote: starting a second one in a
// process is a data race (it sets gRPC's logger, a plain variable, each time), a
// message of an unknown type ends the receiving process, a peer that cannot be
// reached blocks the messages to it for two seconds before the node hears of it,
// and stopping it panics in senders. Here:
//
//   - A peer's message cannot crash a node; a node refuses bad messages one by one.
//   - A connection that breaks or cannot be made is known at once, from either
//     side (Config.OnBroken). All waits for that peer fail: requests, watches,
//     queued messages. The next message connects again.
//   - ClosePeer ends the connections of one peer.
//   - Delivery is at most once, in order per sender and target within one
//     connection. Queues are bounded; a message that does not fit, or comes after Stop, is
//     a dead letter, which fails its request.
//
// Messages should stay under 64 KiB. Any peer that can connect may send anything to any
// actor, so use TLS with client certificates outside of loopback.
//
// All methods are safe for concurrent use.
package remoting

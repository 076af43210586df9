// Package remoting carries control messages between the actors of nodes, over
// gRPC.
//
// It speaks the protocol of proto.actor's remote package, with its generated
// code, but does not use that package's Remote: starting a second one in a
// process is a data race (it sets gRPC's logger, a plain variable, each time), a
// message of an unknown type ends the receiving process, a peer that cannot be
// reached blocks the messages to it for two seconds before anybody hears of it,
// and stopping it panics in whoever sends. Here:
//
//   - What a peer sends cannot crash a node; what is wrong is refused, message by
//     message.
//   - A connection that breaks or cannot be made is known at once, from either
//     side (Config.OnBroken). What waits for that peer fails: requests, watches,
//     queued messages. The next message connects again.
//   - ClosePeer ends the connections of one peer.
//   - Delivery is at most once, in order per sender and target within one
//     connection. Queues are bounded; what does not fit, or comes after Stop, is
//     a dead letter, which fails the request that it belongs to.
//
// Messages should stay under 64 KiB. Whoever may connect may send anything to any
// actor, so use TLS with client certificates outside of loopback.
//
// All methods are safe for concurrent use.
package remoting

// Package stage is what simulations of services share: nodes with a view of who is a
// member, a network that delays, doubles and loses messages, and nodes that crash,
// hang, are cut off, leave and join. What happens follows from the seed alone.
package stage

// Package actors is the kit that every actor of this module uses: supervision
// with backoff, ticks and timers that end with the actor's instance, the clock
// that cores live by, and the recovery events that actors publish.
//
// An actor owns one protocol core: it turns messages into events, and effects
// into messages, timers and calls. A panic in it is a bug: its supervisor
// publishes it, and restarts or stops the actor.
//
// Supervisors, bridges and clocks are safe for concurrent use. A Wakeup
// belongs to one instance of an actor.
package actors

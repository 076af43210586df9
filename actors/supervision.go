package actors

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/internal/logging"
)

// Supervisor decides whether an actor that panicked restarts or stops, for that actor
// alone. It publishes an actor.SupervisorEvent for each decision. Its Reason prints as
// the reason of the panic.
//
// A restart drops the message that was being handled, makes a fresh instance and
// stops all children; the PID stays, and messages wait meanwhile. An actor with
// children that is stopped by others while it waits for its restart may be
// restarted instead: let no actor that is supervised so have children.
//
// The library keeps a process for every Supervisor that guards an actor, so make
// one per node, not one per actor.
type Supervisor struct {
	Decide func(reason any) actor.Directive // nil: always restart

	// A restart waits for Min, and each next one twice as long, up to Max.
	Min, Max time.Duration

	// More than Limit failures within Window stop the actor.
	Limit  int
	Window time.Duration

	// Stopped is called when an actor is about to be stopped, on the goroutine that
	// panicked. It may be nil.
	Stopped func(child *actor.PID)

	log logrus.FieldLogger
}

// Crash is a message on which every long-lived actor of a node panics, and every
// place, fetch and put: for tests of recovery.
type Crash struct{}

var _ actor.SupervisorStrategy = (*Supervisor)(nil)

// Restarting returns a Supervisor for long-lived actors: it restarts them after
// 10 ms to 2 s, and stops an actor that fails more than ten times in a minute.
func Restarting(log logrus.FieldLogger) *Supervisor {
	return &Supervisor{Min: 10 * time.Millisecond, Max: 2 * time.Second, Limit: 10, Window: time.Minute, log: log}
}

// StopOnPanic returns a Supervisor for one-shot actors, which cannot be rebuilt:
// their users watch them.
func StopOnPanic(log logrus.FieldLogger) *Supervisor {
	return &Supervisor{Decide: func(any) actor.Directive { return actor.StopDirective }, log: log}
}

// Guard makes s the supervisor of actors that are spawned with the props from
// the root, and of their children, unless these have another.
func (s *Supervisor) Guard(props *actor.Props) *actor.Props {
	return props.Configure(actor.WithGuardian(s), actor.WithSupervisor(s))
}

// HandleFailure is called by the actor system, for an actor that was spawned
// from the root on the goroutine that panicked.
func (s *Supervisor) HandleFailure(sys *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID, stats *actor.RestartStatistics, reason, message any) {
	directive, delay := s.decide(stats, reason)
	log := s.log.WithFields(logrus.Fields{logging.Actor: child.Id, logging.Cause: reason, logging.Duration: delay})
	if _, parent := supervisor.(actor.Context); !parent {
		log = log.WithField("stack", string(debug.Stack()))
		if directive == actor.EscalateDirective { // there is no supervisor above
			directive = actor.StopDirective
		}
	}
	log.Errorf("an actor panicked on a %T, %s", message, verb(directive))
	published := reason
	if directive == actor.RestartDirective {
		published = restartedAfter{reason, delay}
	}
	sys.EventStream.Publish(&actor.SupervisorEvent{Child: child, Reason: published, Directive: directive})
	switch directive {
	case actor.ResumeDirective:
		supervisor.ResumeChildren(child)
	case actor.RestartDirective:
		time.AfterFunc(delay, func() { supervisor.RestartChildren(child) })
	case actor.StopDirective:
		if s.Stopped != nil {
			s.Stopped(child)
		}
		supervisor.StopChildren(child)
	case actor.EscalateDirective:
		supervisor.EscalateFailure(reason, message)
	}
}

// restartedAfter is the reason that is published of a restart: the library's event
// has no room for how long that waits.
type restartedAfter struct {
	reason any
	delay  time.Duration
}

// String returns the text of the reason alone.
func (r restartedAfter) String() string { return fmt.Sprint(r.reason) }

// decide also counts the failure, if it matters.
func (s *Supervisor) decide(stats *actor.RestartStatistics, reason any) (actor.Directive, time.Duration) {
	directive := actor.RestartDirective
	if s.Decide != nil {
		directive = s.Decide(reason)
	}
	if directive != actor.RestartDirective {
		return directive, 0
	}
	if stats.NumberOfFailures(s.Window) == 0 {
		stats.Reset() // else it grows for ever
	}
	stats.Fail()
	failures := stats.NumberOfFailures(s.Window)
	if failures > s.Limit {
		return actor.StopDirective, 0
	}
	delay := s.Min
	for ; failures > 1 && delay < s.Max; failures-- {
		delay *= 2
	}
	return directive, min(delay, s.Max)
}

func verb(d actor.Directive) string {
	switch d {
	case actor.ResumeDirective:
		return "and goes on"
	case actor.RestartDirective:
		return "and is restarted"
	case actor.StopDirective:
		return "and is stopped"
	case actor.EscalateDirective:
		return "which is for its parent to handle"
	}
	return fmt.Sprintf("directive %d", d)
}

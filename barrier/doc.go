// Package barrier gives the actors and the goroutines of a cluster partial
// barriers: barriers that need not wait for everybody.
//
// A node that has the service takes part in all barriers:
//
//	node, err := cluster.Join(ctx, cluster.Config{Services: []cluster.Service{barrier.Service()}})
//
// A participant opens a barrier by its name and enters it; Enter returns when the barrier fires:
//
//	b, err := barrier.Open(node, "step/17", barrier.Config{Max: 8, Timeout: 5 * time.Second, Percent: 80})
//	…
//	passage, err := b.Enter(ctx, barrier.Entry{Host: "worker 3"})
//
// All participants that open it give the same Config. Others join it by its name alone (Join),
// and wait until a participant has opened it.
//
// A barrier fires once. The next round of a loop takes another name, or the next
// generation of the same one (WithGeneration).
//
// An application actor sends the messages of package message to the actor that
// node.Service(barrier.Name) is, and gets replies.
//
// The managers remember a barrier and its entries for ten seconds after it is over
// (Settings.Keep). After that they know for ten minutes or longer (Settings.Linger) that it has
// fired, and new participants are late. Its name is as new once no node is left from which it was
// entered. Remove ends a barrier at any time, and frees its name. The managers forget an
// idle semaphore after ten seconds, and an adaptive one after Linger.
//
// Participants that have passed a double barrier (Config.Double) leave it together by Leave.
//
// Barriers can let participants through a few at a time (Config.Throttle), or as
// many as may be inside at one time (Config.Semaphore, with Release at the end of the
// bounded work), can fire where arrivals slow down (Config.Knee), and can ask the
// application (Config.Callback and Watch).
//
// Three members, chosen by the view, manage a barrier; while one of them lives nothing of
// it is lost. If all die at once, no node knows whether the barrier had fired: Enter fails
// with ErrManagersLost, a phalanx.ErrUnknown, while a participant waits that had entered.
// If none waits, the name is as new. Package protocol/barrier has the decisions and the
// guarantees.
//
// Source: Albrecht et al., "Loose Synchronization for Large-Scale Networked Systems".
package barrier

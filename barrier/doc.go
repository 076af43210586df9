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
// All who open it give the same Config. The others join it by its name alone (Join), and wait for
// one who has opened it if they come first.
//
// A barrier fires once. The next round of a loop takes another name, or the next
// generation of the same one (WithGeneration).
//
// An application actor sends the messages of package message to the actor that
// node.Service(barrier.Name) is, and gets replies.
//
// A barrier is remembered for ten seconds after it is over (Settings.Keep), with those who have
// passed. After that its managers know for ten minutes or longer (Settings.Linger) that it has
// fired, so that whoever comes is late; its name is as new once no node is left from which it was
// entered. Remove ends a barrier at any time, and has its name serve again. A semaphore that
// nobody holds or waits for is forgotten after ten seconds; one that adapts after Linger.
//
// Those who have passed a double barrier (Config.Double) leave it together by Leave.
//
// Barriers can let participants through a few at a time (Config.Throttle), or as
// many as may be inside at one time (Config.Semaphore, with Release at the end of what
// they bound), can fire where arrivals slow down (Config.Knee), and can ask the
// application (Config.Callback and Watch).
//
// A barrier is managed by three members, of which the view decides; while one of
// them lives nothing of it is lost. If all die at once, nobody knows whether the barrier
// had fired: Enter fails with ErrManagersLost, a phalanx.ErrUnknown, while somebody waits
// who had entered. If nobody does, the name is as new. What is decided, and what is guaranteed, is in
// package protocol/barrier.
//
// Source: Albrecht et al., "Loose Synchronization for Large-Scale Networked Systems".
package barrier

// Package reduce decides how one Reduce is carried out: which sources are in
// it, at which place of which tree each is combined, the commands to every
// place, and the work that is repeated when something fails.
//
// It holds two deterministic state machines. A Coordinator runs one Reduce,
// one per target; a Place runs one place of the tree on the node that holds
// its source. Both take an event and return effects, to be carried out in
// that order. Neither is safe for concurrent use. Neither sees a byte of the
// objects: bytes stream from place to place while they arrive.
//
// # The coordinator's decisions
//
// The first Num of the sources that become ready, in the order in which their
// readiness is handled, take the lowest empty places in generalized in-order
// (Tree), in a tree whose degree follows from size, latency and bandwidth
// (ChooseDegree). Sources below Config.InlineLimit are combined by the
// coordinator itself. It tells every place its whole wanted state (State) as
// soon as that changes, again and again until the place acknowledges it, and
// finalises the target when the root is done and every source in the tree is
// final in the generation that was used.
//
// # Labels
//
// A PlaceGen labels one output of a place. A parent takes only the label that
// it was told, so that bytes of two outputs are never combined, and commands
// need not wait for each other. A place that must clear its result gets a new
// label and keeps its source; the same label always stands for equal bytes,
// since a place combines its inputs in one fixed order. The root's output has
// a generation of the target too, given by the directory: a root with a new
// label combines at once, and serves readers when the new generation has been
// granted (State.TargetGen is zero until then).
//
// # Guarantees
//
//  1. Each source is in the result at most once, and the result is the
//     reduce over exactly the sources that Result.In names.
//  2. A failure clears only ancestors of the place that failed.
//  3. A dead place whose contribution is held by a live ancestor, directly or
//     inside that of another delivered place, is not replaced and clears
//     nobody, until that ancestor loses it.
//  4. The target becomes final only after its sources.
//  5. Events may be repeated, delayed and reordered: they name the label or
//     version that they are about, and stale ones change nothing. A repeated
//     request gets the same answer again.
//  6. A Reduce of n from m sources ends if n of them can be created and faults
//     stop, and in a typed error when Cancel or the deadline comes first.
//
// # Duties of the host
//
// Deliver a Tick every 50 ms or so to each machine; Start, Resume and Tick carry
// the time, all other events take the time of the last one. Carry all messages
// of one Reduce in an envelope with its target and its Reduce generation
// (Coordinator.Reduce, State.Reduce), and drop those of another Reduce: labels
// are unique only within one. Keep the watch of the directory alive across
// moves of a shard. Only a Command makes a Place, and a Place that was stopped
// may be forgotten: a command that was delayed makes another one, which says
// that it runs (Acked) and is stopped by its coordinator, or ends with it. A
// host tells a new Place the time before anything else.
//
// Hosts: node/reduce.
package reduce

package workflow

import "slices"

// A node that was away as a run ended has not heard that it may drop what it has of it. So each node names the runs of
// which it has something to the controller, once in censusPause (workflow specification 2.3).

// count asks the host if it is time.
func (x *Executor) count() {
	if x.census > 0 && x.now >= x.census {
		x.census = x.now + censusPause
		x.emit(Census{})
	}
}

// keeps names runs to the controller, but for those of which something goes on.
func (x *Executor) keeps(runs []UID) {
	if x.epoch == 0 {
		return
	}
	busy := map[UID]bool{}
	for id := range x.running {
		busy[id.Run] = true
	}
	for b := range x.saving {
		busy[b.Run] = true
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(u UID) bool { return busy[u] })
	for some := range slices.Chunk(runs, mostListed) {
		x.send(Keeps{Epoch: x.epoch, Runs: some})
	}
}

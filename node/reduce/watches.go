package reduce

import "github.com/phalanx-go/phalanx"

// watchesAtOnce bounds the unanswered watches of a Reduce's sources. Each shard has its
// share of them, but at least watchesPerShard: with more than 128 shards there can be
// more. An owner that does not answer does not hold up the others.
const (
	watchesAtOnce   = 1024
	watchesPerShard = 8
)

// watches opens the watches of a Reduce's sources, in the order of the request.
type watches struct {
	ids     []phalanx.ObjectID
	share   int                     // of each shard
	shards  []queue                 // by shard
	opened  []uint64                // the numbers of the watches, in the order in which they were opened
	sources map[uint64]int          // by the number of the watch
	waiting []bool                  // by source: for its first answer
	next    func(source int) uint64 // opens a watch and returns its number; nil: the Reduce wants none
}

// queue has the watches of one shard.
type queue struct {
	open int   // watches that are not answered yet
	next []int // sources that are not watched yet, by index
}

// begin opens as many watches as may be open at once. shards is 0 before the first view.
func (w *watches) begin(shards int, next func(source int) uint64) {
	shards = max(shards, 1)
	w.shards, w.share = make([]queue, shards), max(watchesAtOnce/shards, watchesPerShard)
	w.next, w.sources, w.waiting = next, map[uint64]int{}, make([]bool, len(w.ids))
	for i, id := range w.ids {
		if q := w.shard(id); q.open < w.share {
			w.watch(i, q)
		} else {
			q.next = append(q.next, i)
		}
	}
}

func (w *watches) shard(id phalanx.ObjectID) *queue { return &w.shards[id.Shard(len(w.shards))] }

func (w *watches) watch(source int, q *queue) {
	q.open++
	w.waiting[source] = true
	num := w.next(source)
	w.opened, w.sources[num] = append(w.opened, num), source
}

// told notes an answer to the watch with number num and returns its source. After the first
// one it watches the next source of the same shard.
func (w *watches) told(num uint64) (source int, ok bool) {
	source, ok = w.sources[num]
	if !ok || !w.waiting[source] {
		return source, ok
	}
	w.waiting[source] = false
	q := w.shard(w.ids[source])
	q.open--
	if len(q.next) > 0 && q.open < w.share {
		next := q.next[0]
		q.next = q.next[1:]
		w.watch(next, q)
	}
	return source, true
}

// open reports whether the sources are watched.
func (w *watches) open() bool { return w.next != nil }

func (w *watches) end() (opened []uint64) {
	opened, w.opened, w.sources, w.next = w.opened, nil, nil, nil
	return opened
}

package disk

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// maxBatch is how much the committer takes into one batch, in bytes: a batch lies in memory twice.
const maxBatch = 16 << 20

// change is what the committer makes durable.
type change struct {
	size int  // bytes, for the bounds
	sync bool // it must be on the disk before done
	// fill adds the change to a batch. If it returns an error it has added nothing, or marked the disk.
	fill func(*pebble.Batch) error // nil: nothing
	// after is called when the batch is committed and before the next one begins. Its error is the answer.
	after func() error // nil: nothing
	done  func(error)
}

// queue has the changes that the committer has not answered. It is safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	news    sync.Cond // waiting, bytes or over has changed
	waiting []change
	bytes   int      // of waiting
	flying  []change // in the batch that is being committed
	over    error    // nothing more is taken
	ended   bool     // the committer answers nothing any more
}

func newQueue() *queue {
	q := &queue{}
	q.news.L = &q.mu
	return q
}

// add waits until c fits into the bound. It returns false if the committer will not answer c.
func (q *queue) add(c change) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.over == nil && q.bytes > 0 && q.bytes+c.size > durable.MaxWaiting {
		q.news.Wait()
	}
	q.waiting = append(q.waiting, c)
	q.bytes += c.size
	q.news.Broadcast()
	return !q.ended
}

// take waits for changes and returns those of the next batch, or none when nothing is taken any more.
func (q *queue) take() []change {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.over == nil && len(q.waiting) == 0 {
		q.news.Wait()
	}
	if q.over != nil {
		return nil
	}
	n, size := 0, 0
	for n < len(q.waiting) && (n == 0 || size+q.waiting[n].size <= maxBatch) {
		size += q.waiting[n].size
		n++
		if q.waiting[n-1].after != nil { // it sees what is before it, and nothing else
			break
		}
	}
	q.flying = q.waiting[:n:n]
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil // the array goes with the batch
	}
	q.bytes -= size
	q.news.Broadcast()
	return q.flying
}

// landed says that the batch that take has returned is answered.
func (q *queue) landed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flying = nil
}

// end takes nothing more, for the reason err. The first reason stays.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over == nil {
		q.over = err
	}
	q.news.Broadcast()
}

// rest returns what nobody has answered, in order, once. The committer has ended, or may have.
func (q *queue) rest() []change {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	rest := append(q.flying, q.waiting...)
	q.flying, q.waiting, q.bytes = nil, nil, 0
	return rest
}

// submit hands c to the committer. A done may call it, too: it never calls done itself.
func (d *Disk) submit(c change) {
	if !d.queue.add(c) {
		go d.answerRest()
	}
}

// change makes one change and waits for it.
func (d *Disk) change(size int, sync bool, fill func(*pebble.Batch) error) error {
	done := make(chan error, 1)
	d.submit(change{size: size, sync: sync, fill: fill, done: func(err error) { done <- err }})
	return <-done
}

// commits is the committer. It ends when nothing is taken any more; on a poisoned disk it may
// stay in pebble for ever.
func (d *Disk) commits() {
	defer close(d.committed)
	defer d.poison.recover()
	for {
		changes := d.queue.take()
		if changes == nil {
			d.answerRest()
			return
		}
		refused := d.commit(changes)
		d.acknowledge(changes, refused)
	}
}

// commit commits changes as one batch and returns the errors of those that were refused alone.
func (d *Disk) commit(changes []change) []error {
	b, sync, refused := d.db.NewBatch(), pebble.NoSync, make([]error, len(changes))
	for i, c := range changes {
		if c.fill != nil {
			refused[i] = c.fill(b)
		}
		if refused[i] == nil && c.sync {
			sync = pebble.Sync
		}
	}
	if d.poison.err() != nil { // a Write was invalid
		return nil
	}
	if err := d.finish(b, sync); err != nil {
		d.poison.mark(err)
		return nil
	}
	if err := b.Close(); err != nil {
		d.poison.mark(err)
	}
	if last := len(changes) - 1; changes[last].after != nil && refused[last] == nil {
		refused[last] = changes[last].after()
	}
	return refused
}

// finish commits a batch. Pebble ignores an empty one, but a Write without content may ask for the sync of those
// before it: what LogData adds goes to pebble's log only.
func (d *Disk) finish(b *pebble.Batch, sync *pebble.WriteOptions) error {
	if sync == pebble.Sync && b.Empty() {
		if err := b.LogData([]byte{0}, nil); err != nil {
			return err
		}
	}
	return b.Commit(sync)
}

// acknowledge answers changes that were committed. On a marked disk it leaves that to the watcher: a
// commit that ended there may be one whose sync has failed.
func (d *Disk) acknowledge(changes []change, refused []error) {
	d.answering.Lock()
	defer d.answering.Unlock()
	if d.poison.err() != nil {
		return
	}
	d.queue.landed()
	for i, c := range changes {
		c.done(refused[i])
	}
}

// watch waits until the disk is marked and answers all that wait. Close, which stops it, may come at the same time.
func (d *Disk) watch() {
	defer close(d.watched)
	select {
	case <-d.poison.marked:
	case <-d.stop:
	}
	if err := d.poison.err(); err != nil {
		d.queue.end(err)
		d.answerRest()
	}
}

// answerRest answers all that nobody has answered. Calls of done keep the order of the changes.
func (d *Disk) answerRest() {
	d.answering.Lock()
	defer d.answering.Unlock()
	for _, c := range d.queue.rest() {
		c.done(d.queue.over) // set before, and never again
	}
}

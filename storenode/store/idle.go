package store

import "github.com/phalanx-go/phalanx/node/copies"

// victim takes the idle copy that was used longest ago of those whose shard, one of
// shards, is not busy; nil if there is none. No other call returns it before keep was called for
// it.
func (t *Table) victim(shards int, busy func(shard int) bool) (c *objectCopy, shard int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, shard := t.core.Victim(shards, busy)
	return copyOf(v), shard
}

// keep gives back what victim took. If it was refused, victim leaves it out until reconsider
// is called.
func (t *Table) keep(c *objectCopy, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Keep(&c.Copy, refused)
}

// reconsider lets victim choose what was refused.
func (t *Table) reconsider() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Reconsider()
}

// reclaimAsked gives back all that victim has taken: nobody will hear the answers
// of the owners any more.
func (t *Table) reclaimAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Reclaim()
}

// evict drops c, which victim has chosen and whose owner has granted leave. It
// reports false, and c stays, if c was pinned or somebody has begun to use it
// since it was chosen.
func (t *Table) evict(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Evict(&c.Copy, err)
}

// standing says what has become of a copy.
func (t *Table) standing(c *objectCopy) copies.Standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Standing(&c.Copy)
}

// Evictions returns how many copies were dropped for room.
func (t *Table) Evictions() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Evictions()
}

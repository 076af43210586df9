package store

import "github.com/phalanx-go/phalanx/node/copies"

// victim takes the least recently used idle copy whose shard, one of shards, is not busy; nil
// if there is none. No other call returns it until keep gives it back.
func (t *Table) victim(shards int, busy func(shard int) bool) (c *objectCopy, shard int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, shard := t.core.Victim(shards, busy)
	return copyOf(v), shard
}

// keep gives back a copy that victim took. If its owner has refused leave, victim leaves the
// copy out until reconsider is called.
func (t *Table) keep(c *objectCopy, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Keep(&c.Copy, refused)
}

// reconsider lets victim choose refused copies.
func (t *Table) reconsider() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Reconsider()
}

// reclaimAsked gives back all copies that victim has taken: the owners' answers are for an
// evictor that has ended.
func (t *Table) reclaimAsked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Reclaim()
}

// evict drops c, which victim has chosen and whose owner has granted leave. It
// reports false, and c stays, if c was pinned or a reader has begun to use it
// since then.
func (t *Table) evict(c *objectCopy, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.core.Evict(&c.Copy, err)
}

// standing reports whether a copy is present, dropped or replaced.
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

package store

import (
	"slices"
	"sync"

	"github.com/phalanx-go/phalanx"
)

// upstreams is the path of incarnations above a copy, nearest first. The streams that send
// the copy on hear of every change, and tell their receivers (specification 3.3).
type upstreams struct {
	mu   sync.Mutex
	path []phalanx.NodeID // never changed in place
	told []chan struct{}
}

// set takes the path as the sender tells it, or the sender alone. The slice stays the caller's.
func (u *upstreams) set(path []phalanx.NodeID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if slices.Equal(u.path, path) {
		return
	}
	u.path = slices.Clone(path)
	for _, c := range u.told {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// below returns the path from self, which has the copy, up to the origin.
func (u *upstreams) below(self phalanx.NodeID) []phalanx.NodeID {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]phalanx.NodeID{self}, u.path...)
}

// follow returns a channel that tells of changes from now on.
func (u *upstreams) follow() chan struct{} {
	c := make(chan struct{}, 1)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.told = append(u.told, c)
	return c
}

func (u *upstreams) unfollow(c chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.told = slices.DeleteFunc(u.told, func(x chan struct{}) bool { return x == c })
}

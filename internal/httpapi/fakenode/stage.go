package fakenode

import (
	"crypto/md5"

	"github.com/phalanx-go/phalanx"
)

// These methods set the scene for a test, and wait until the node has come to a point.

// Lose makes id a final object of n2#2 without a complete copy, of which this node has some
// bytes. Its readers wait.
func (n *Node) Lose(id phalanx.ObjectID, size int64, bytes string) {
	n.remote(id, size, bytes).lost = true
}

// Lack makes id an object that n2#2 is writing. This node has some bytes, and no others come.
func (n *Node) Lack(id phalanx.ObjectID, size int64, bytes string) { n.remote(id, size, bytes) }

// Remote has id be a final object that is at n2#2 only.
func (n *Node) Remote(id phalanx.ObjectID, size int64) {
	o := n.remote(id, size, "")
	o.final, o.info.Digest = true, md5.Sum(make([]byte, size))
}

// Opened reports whether id has been opened.
func (n *Node) Opened(id phalanx.ObjectID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reading[id]
}

func (n *Node) remote(id phalanx.ObjectID, size int64, bytes string) *object {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.bind(id, phalanx.Meta{Size: size}, "n2#2")
	o.bytes = []byte(bytes)
	return o
}

// AwaitReader returns once id has been opened since it was last asked.
func (n *Node) AwaitReader(id phalanx.ObjectID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.reading[id] {
		n.changed.Wait()
	}
	delete(n.reading, id)
}

// AwaitOpen returns once an Open waits for its object.
func (n *Node) AwaitOpen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.searching {
		n.changed.Wait()
	}
}

// Await returns once id has at least size bytes.
func (n *Node) Await(id phalanx.ObjectID, size int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.objects[id] == nil || len(n.objects[id].bytes) < size {
		n.changed.Wait()
	}
}

// Bytes returns the object, or nil if it is not there or not final.
func (n *Node) Bytes(id phalanx.ObjectID) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.objects[id]; o != nil && o.final {
		return o.bytes
	}
	return nil
}

// Prefetched returns the nodes that the last Prefetch of id named.
func (n *Node) Prefetched(id phalanx.ObjectID) []phalanx.NodeID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.prefetched[id]
}

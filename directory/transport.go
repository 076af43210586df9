package directory

import (
	"github.com/phalanx-go/phalanx"
)

// Transport brings the values of protocol/directory to other nodes, at most once
// and in order per node. It never blocks.
type Transport interface {
	// Send brings v, about a shard, to node.
	Send(node phalanx.NodeID, shard int, v any)
}

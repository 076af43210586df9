package directory

import (
	"github.com/phalanx-go/phalanx"
)

// Transport brings the values of protocol/directory to other nodes, at most once
// and in order per node. It never blocks.
type Transport interface {
	// Send brings v, about a shard, to node. An error says that v can never be sent,
	// since it is too long or not in the schema: to repeat it is of no use, and the
	// request that it belongs to fails. The transport has published it. Send reports no
	// other failure.
	Send(node phalanx.NodeID, shard int, v any) error
}

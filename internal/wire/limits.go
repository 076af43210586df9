package wire

// The limits of messages between nodes. The simulator holds itself to them.
const (
	// MaxMessage is the longest message on a data connection, in bytes.
	MaxMessage = 1 << 20
	// MaxControl is the longest message between actors of two nodes, in bytes.
	MaxControl = 8 << 20
)

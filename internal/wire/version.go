package wire

// Version is that of the messages between nodes: it changes with whatever an older node
// would not understand. Nodes of different versions refuse each other. It is a variable so
// that a program can be built that speaks another:
//
//	go build -ldflags "-X github.com/phalanx-go/phalanx/internal/wire.Version=5" ./cmd/phalanx
var Version = "4"

package wire

// Version is the version of the messages between nodes: it changes with each change that an
// older node would not understand. Nodes of different versions refuse each other. It is a variable so
// that a program can be built that speaks another:
//
//	go build -ldflags "-X github.com/phalanx-go/phalanx/internal/wire.Version=7" ./cmd/phalanx
var Version = "6"

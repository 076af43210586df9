package cluster

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
	"github.com/phalanx-go/phalanx/storenode/dataplane/combine"
)

// CombineFunc folds src into dst, both whole arrays of elements of type d: dst
// becomes dst op src. It must be commutative and associative, and must not
// keep the slices. An error or a panic ends the Reduce with an error that says so;
// a call that does not return cannot be ended.
type CombineFunc = combine.Func

// Config says how a node takes part. The zero Config is a cluster of its own on
// loopback, on free ports.
type Config struct {
	Name        string   // member name; default: the host's, and a random suffix
	Cluster     string   // default "phalanx"; nodes of different clusters refuse each other
	Bind        string   // address to listen on, without port; default 127.0.0.1
	Advertise   string   // address that others dial, without port; default Bind
	ControlPort int      // for actors' messages; 0 takes a free one
	DataPort    int      // for objects; 0 takes a free one
	Seeds       []string // control addresses (host:port) of the nodes that begin the cluster, the same for all nodes, these too; or of any members. Names are resolved
	Alone       bool     // without Seeds and off loopback: begin a cluster of its own, each time it starts

	Memory      int64         // cap in bytes on everything that the store holds; default a quarter of the machine's
	Warm        int64         // of Memory, how much is touched before the node joins, so that its first objects arrive as fast as later ones; default none
	InlineLimit int64         // objects below this many bytes live in the directory; default 64 KB, at most MaxInlineLimit; negative: none
	Shards      int           // of the directory, told by the first node; default 64
	Voters      int           // on views, at most; default 3, and 5 from seven members on
	Fanout      int           // receivers of one object that a sender serves at a time; default 1
	Streams     int           // of objects to one other node at a time; default 128. Further ones get the answer that this node is busy. Streams of reduces do not count
	Deadline    time.Duration // of calls that have none; default 60 s

	ServerTLS, ClientTLS *tls.Config // for the node's own traffic, both or neither
	Insecure             bool        // allow an address that is not loopback without TLS

	// Waits, if it is set, is called with the reason for which Join waits when that changes, ten times
	// a second at most, until Join returns. It must not block. Join logs it as well, after two seconds and
	// then every half minute, or five seconds after the last time if it has changed.
	Waits func(what string)

	Logger logrus.FieldLogger // default: warnings on standard error; of one cause gets ten lines a minute at most, and how many more there were
	// Kinds are the actors that members may start here by SpawnOn. A kind gets
	// the node that it is started on, which has joined by then.
	Kinds map[string]func(*Node) *actor.Props
	Ops   map[phalanx.Op]CombineFunc // ops of the application; the same on every node
	// Services run here as long as the node does, such as barrier.Service.
	Services []Service

	turnWait time.Duration // dataplane.Config.TurnWait; tests set it
}

// DefaultInlineLimit is the size in bytes below which objects live in the
// directory.
const DefaultInlineLimit = 64 << 10

// MaxInlineLimit is the greatest Config.InlineLimit: the bytes of an object that lives
// in the directory are a part of messages, which have at most 1 MiB.
const MaxInlineLimit = 256 << 10

// DefaultMemory returns the default of Config.Memory on this machine: a quarter
// of its memory.
func DefaultMemory() int64 { return machineMemory() / 4 }

func (c Config) withDefaults() Config {
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "node"
		}
		var b [3]byte
		_, _ = rand.Read(b[:]) // never fails
		c.Name = strings.SplitN(host, ".", 2)[0] + "-" + hex.EncodeToString(b[:])
	}
	set(&c.Cluster, "phalanx")
	set(&c.Bind, "127.0.0.1")
	set(&c.Advertise, c.Bind)
	set(&c.Memory, DefaultMemory())
	set(&c.InlineLimit, DefaultInlineLimit)
	set(&c.Shards, 64)
	set(&c.Fanout, 1)
	set(&c.Streams, dataplane.DefaultStreams)
	set(&c.Deadline, time.Minute)
	if c.Logger == nil {
		l := logrus.New()
		l.SetLevel(logrus.WarnLevel)
		c.Logger = l
	}
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const noTLS = "%s is not a loopback address and there is no TLS: give ServerTLS and ClientTLS (--tls-cert, --tls-key, --tls-ca), or set Insecure (--insecure) on a closed network"

// Validate returns an ErrInvalid that names the field that cannot be, or nil.
func (c Config) Validate() error {
	c = c.withDefaults()
	bad := func(field, format string, args ...any) error {
		return &phalanx.Error{Op: "join", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%s: "+format, append([]any{field}, args...)...)}
	}
	if err := phalanx.ObjectID(c.Name).Validate(); err != nil || strings.Contains(c.Name, "#") || len(c.Name) > 64 {
		return bad("Name", "%q is not a name of 1 to 64 printable characters without '#'", c.Name)
	}
	if err := phalanx.ObjectID(c.Cluster).Validate(); err != nil || len(c.Cluster) > 64 {
		return bad("Cluster", "%q is not a name of 1 to 64 printable characters", c.Cluster)
	}
	for field, port := range map[string]int{"ControlPort": c.ControlPort, "DataPort": c.DataPort} {
		if port < 0 || port > 65535 {
			return bad(field, "%d is not a port from 0 to 65535", port)
		}
	}
	for _, s := range c.Seeds {
		if host, port, err := net.SplitHostPort(s); err != nil || host == "" || port == "" {
			return bad("Seeds", "%q is not host:port, the control address of a member", s)
		}
	}
	seen := map[string]bool{storeName: true, placesName: true, looksName: true}
	for _, s := range c.Services {
		if s.Name == "" || seen[s.Name] || s.Actor == nil {
			return bad("Services", "%q is empty or taken, or the service has no actor", s.Name)
		}
		seen[s.Name] = true
	}
	switch {
	case c.Memory < 1<<20:
		return bad("Memory", "%d bytes are less than a mebibyte; give more, or with a unit, such as 64MB", c.Memory)
	case c.Warm < 0 || c.Warm > c.Memory:
		return bad("Warm", "%d bytes are not 0 to the %d of Memory", c.Warm, c.Memory)
	case c.InlineLimit > MaxInlineLimit:
		return bad("InlineLimit", "%d bytes are more than the maximum of %d", c.InlineLimit, MaxInlineLimit)
	case c.Shards < 1 || c.Shards > 4096:
		return bad("Shards", "%d are not 1 to 4096", c.Shards)
	case c.Voters < 0 || c.Voters > 7 || c.Voters != 0 && c.Voters%2 == 0:
		return bad("Voters", "%d are not 1, 3, 5 or 7", c.Voters)
	case c.Fanout < 1 || c.Fanout > 1024:
		return bad("Fanout", "%d are not 1 to 1024", c.Fanout)
	case c.Streams < 1 || c.Streams > 65536:
		return bad("Streams", "%d are not 1 to 65536", c.Streams)
	case c.Deadline < 0:
		return bad("Deadline", "%v is negative", c.Deadline)
	case (c.ServerTLS == nil) != (c.ClientTLS == nil):
		return bad("ServerTLS", "ServerTLS and ClientTLS have to be set together")
	case c.ServerTLS == nil && !c.Insecure && !loopback(c.Bind):
		return bad("Bind", noTLS, c.Bind)
	case c.ServerTLS == nil && !c.Insecure && !loopback(c.Advertise):
		return bad("Advertise", noTLS, c.Advertise)
	case c.Alone && len(c.Seeds) > 0:
		return bad("Alone", "Alone (--alone) and Seeds (--seeds) are both set")
	case len(c.Seeds) == 0 && !c.Alone && (!loopback(c.Bind) || !loopback(c.Advertise)):
		return bad("Seeds", "without seeds the node would begin a cluster of its own each time it starts, beside a running one: name the nodes that begin the cluster, this one among them, the same for all nodes (--seeds), or set Alone (--alone)")
	}
	return c.unreachable(literal)
}

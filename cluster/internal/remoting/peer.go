package remoting

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
)

// peer is a connection that this node makes, from the first message for an
// address until it ends, and its queue of messages. Its goroutine owns the fields that
// are not locked.
type peer struct {
	r       *Remoting
	address string
	watches map[watch]*actor.PID // by r.mu: the actors there that actors here watch

	mu     sync.Mutex
	queue  []letter
	closed bool
	more   chan struct{} // holds a token if something was put

	unsent  []letter // when it broke
	dialled error    // by mu: why the last dial or TLS handshake failed, which gRPC tells only as text
	ended   bool     // by mu: ClosePeer was called
}

const maxQueue = 1 << 16 // letters

func (r *Remoting) newPeer(address string) *peer {
	return &peer{r: r, address: address, watches: map[watch]*actor.PID{}, more: make(chan struct{}, 1)}
}

func (p *peer) put(l letter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.queue) == maxQueue {
		return false
	}
	p.queue = append(p.queue, l)
	select {
	case p.more <- struct{}{}:
	default:
	}
	return true
}

// take returns the queued letters. p owns them again at the next call: buffer is the last
// queue that it returned, emptied.
func (p *peer) take(buffer []letter) []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.queue
	p.queue = buffer[:0]
	return all
}

// maxIdle is how many letters a buffer has room for that is kept.
const maxIdle = 1024

// emptied returns a buffer of sent letters, to be filled again, or nil if it was so large that a
// quiet connection should not keep it.
func emptied(buffer []letter) []letter {
	if cap(buffer) > maxIdle {
		return nil
	}
	clear(buffer)
	return buffer[:0]
}

// close returns the unsent letters.
func (p *peer) close() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return slices.Concat(p.unsent, p.queue)
}

// run ends when the connection does.
func (p *peer) run() { p.r.drop(p, p.send()) }

func (p *peer) dial(ctx context.Context, _ string) (net.Conn, error) {
	raw, err := p.r.cfg.Dial(ctx, p.address)
	if err != nil {
		p.mu.Lock()
		p.dialled = err
		p.mu.Unlock()
		return nil, err
	}
	c, err := p.r.conns.add(raw, p.address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended { // before there was a connection to be closed
		_ = c.Close()
		p.dialled = errGivenUp
		return nil, errGivenUp
	}
	return c, nil
}

var errGivenUp = errors.New("this node has closed its connections to the peer")

func (p *peer) send() error {
	ctx, cancel := context.WithCancel(p.r.ctx)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+p.address,
		grpc.WithTransportCredentials(noting{p.r.client, p}),
		grpc.WithContextDialer(p.dial),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: dialTimeout}),
	)
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := p.open(ctx, conn)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := stream.Recv(); err != nil { // nodes have nothing more to say this way
				ended <- err
				return
			}
		}
	}()
	err = p.pump(stream, ended)
	cancel() // ends the goroutine
	return broke(err)
}

// open makes the connection and waits until the peer knows this node.
func (p *peer) open(ctx context.Context, conn *grpc.ClientConn) (remote.Remoting_ReceiveClient, error) {
	stream, err := remote.NewRemotingClient(conn).Receive(ctx)
	if err != nil {
		return nil, p.unopened(err)
	}
	_ = stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_ConnectRequest{ConnectRequest: &remote.ConnectRequest{
		ConnectionType: &remote.ConnectRequest_ServerConnection{ServerConnection: &remote.ServerConnection{
			SystemId: p.r.sys.ID, Address: p.r.Address(),
		}},
	}}}) // if it fails, Recv says why
	m, err := stream.Recv()
	if err != nil {
		return nil, p.unopened(err)
	}
	if m.GetConnectResponse() == nil {
		return nil, errors.New("the peer does not answer as a node does")
	}
	return stream, nil
}

// unopened says why open has failed. err is gRPC's reason.
func (p *peer) unopened(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dialled != nil:
		return p.dialled
	case p.ended, p.r.ctx.Err() != nil:
		return errGivenUp
	}
	return p.stranger(err)
}

func (p *peer) pump(stream remote.Remoting_ReceiveClient, ended <-chan error) error {
	var letters []letter
	for {
		select {
		case err := <-ended:
			return err
		case <-p.more:
		}
		letters = p.take(letters)
		for rest := letters; len(rest) > 0; {
			batch, n := p.pack(rest)
			if err := stream.Send(&remote.RemoteMessage{MessageType: &remote.RemoteMessage_MessageBatch{MessageBatch: batch}}); err != nil {
				p.unsent = rest
				return <-ended // says why
			}
			rest = rest[n:]
		}
		letters = emptied(letters)
	}
}

// pack puts the first n letters into one batch.
func (p *peer) pack(letters []letter) (batch *remote.MessageBatch, n int) {
	e := newEncoder()
	for _, l := range letters {
		if err := e.add(l); err != nil {
			if l, ok := p.r.unsendable(l.target, l.sender, l.message, err); ok {
				_ = e.add(l) // it is short
			}
		}
		n++
		if e.size >= batchBytes {
			break
		}
	}
	return e.batch, n
}

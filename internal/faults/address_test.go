package faults

import (
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx/actors"
)

// A node in the middle of a chain dies, and at once another has its addresses.
// Nobody takes the one for the other: those below go on from other senders, and
// the new one gets what it asks for.
func TestADeadNodesAddressesAreUsedAgain(t *testing.T) {
	nodes := start(t, 6)
	id, small := fresh("broadcast"), fresh("small")
	origin := nodes[1]
	must(t, tell(origin, order{Do: "put", Object: id, Size: large}), tell(origin, order{Do: "put", Object: small, Size: 1 << 10}))
	gets := map[*process]call{}
	for _, p := range without(nodes, origin) {
		gets[p] = tell(p, order{Do: "get", Object: id, Size: large})
	}
	victim, below := middle(t, nodes, without(nodes, origin), origin, id)
	others := without(nodes, victim)
	was := victim.state(t)
	heir := nodeConfig{Name: "heir", Addr: shared.Addr(victim.host), Seeds: []string{seed(t, others[0])}}
	for _, m := range was.Members {
		if m.ID == was.Node {
			heir.Control, heir.Data = port(t, m.Control), port(t, m.Data)
		}
	}
	victim.signal(t, syscall.SIGKILL)
	_ = victim.Wait(t.Context()) // its ports are free
	p := launchWith(t, victim.host, heir)
	heirID := up(t, p).Node
	mine := tell(p, order{Do: "get", Object: id, Size: large})
	lost := expect(t, below, func(e actors.SenderLost) bool { return e.Object == id && e.Sender == was.Node })
	resumed := expect(t, below, func(e actors.TransferResumed) bool { return e.Object == id && e.Sender != was.Node })
	if resumed.Offset < large/5 || lost.Offset > resumed.Offset {
		t.Errorf("lost at %d, resumed at %d", lost.Offset, resumed.Offset)
	}
	for p, get := range gets {
		if p != victim {
			must(t, get)
		}
	}
	must(t, mine, tell(p, order{Do: "get", Object: small, Size: 1 << 10}))
	removed(t, others, was.Node)
	members := append(others, p)
	settle(t, members)
	if now := p.id(t); now != heirID {
		t.Errorf("%s had to join again, as %s", heirID, now)
	}
	level(t, members, id, small)
}

func port(t testing.TB, addr string) int {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	do(t, err)
	n, err := strconv.Atoi(p)
	do(t, err)
	return n
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// until waits until a condition holds.
var until = poll.Until

// read returns the bytes of an object, as the node at an address has them.
func read(t *testing.T, r ready, id phalanx.ObjectID) string {
	t.Helper()
	body, err := client(t, r.HTTP).Get(t.Context(), id, 10*time.Second, 20*time.Second)
	if err != nil {
		t.Errorf("%s: %v", r.Node, err)
		return ""
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Errorf("%s: %v", r.Node, err)
	}
	return string(data)
}

func write(t *testing.T, r ready, id phalanx.ObjectID, data string, copies int) {
	t.Helper()
	if _, err := client(t, r.HTTP).Put(t.Context(), id, bytes.NewReader([]byte(data)), int64(len(data)), httpapi.PutOptions{Copies: copies}); err != nil {
		t.Errorf("%s: %v", r.Node, err)
	}
}

// Of nine nodes two voters are killed and a third one hangs: three of five. One command at one
// of the others forms the cluster anew. All of them work then and have what was put before; the
// voter that hung is fenced when it goes on, and joins again.
func TestRecover(t *testing.T) {
	nodes, up := members(t, 9)
	at := func(id phalanx.NodeID) int {
		return slices.IndexFunc(up, func(r ready) bool { return r.Node == id })
	}
	recovers := func(r ready, args ...string) string {
		b := &bed{addr: r.HTTP, environ: []string{"PHALANX_ADDR=" + r.HTTP}}
		return b.run(t, "", append([]string{"recover"}, args...)...)
	}
	looks := client(t, up[8].HTTP)
	var voters []phalanx.NodeID
	until(t, "five vote", func() bool {
		st, err := looks.Status(t.Context())
		voters = st.Voters
		return err == nil && len(voters) == 5
	})
	before := map[phalanx.ObjectID]string{}
	for i := range 20 {
		id, data := phalanx.ObjectID(fmt.Sprint("before/", i)), strings.Repeat(fmt.Sprint(i), 100<<(i%10))
		before[id] = data
		write(t, up[i%9], id, data, 4)
	}

	// While the majority lives it is refused, with force too.
	must(t, recovers(up[8]), "refused", string(up[8].Node), "hears the majority of the voters", "exit 17")
	must(t, recovers(up[8], "--force"), "refused", "exit 17")

	hung, dead := at(voters[0]), []int{at(voters[1]), at(voters[2])}
	var rest []int
	var events []<-chan actors.Event
	for i, r := range up {
		if i != hung && !slices.Contains(dead, i) {
			rest, events = append(rest, i), append(events, follow(t, r.HTTP))
		}
	}
	signalAll(t, syscall.SIGSTOP, nodes[hung])
	signalAll(t, syscall.SIGKILL, nodes[dead[0]], nodes[dead[1]])
	for k, i := range rest {
		if e, ok := next(t, up[i], events[k]).(actors.MajorityLost); !ok {
			t.Fatalf("%s tells %+v", up[i].Node, e)
		}
		if is, why := isReady(t, up[i]); is || why.Kind != phalanx.ErrUnavailable.Error() {
			t.Errorf("%s is ready: %v, %+v", up[i].Node, is, why)
		}
	}

	said := recovers(up[rest[3]])
	must(t, said, "formed anew", "6 members", "removed", string(up[hung].Node), string(up[dead[0]].Node), string(up[dead[1]].Node))
	t.Log(said)
	for k, i := range rest {
		if e, ok := next(t, up[i], events[k]).(actors.MajorityFound); !ok {
			t.Errorf("%s tells %+v", up[i].Node, e)
		}
		if is, why := isReady(t, up[i]); !is {
			t.Errorf("%s is not ready: %+v", up[i].Node, why)
		}
	}
	for _, i := range rest {
		id := phalanx.ObjectID("after/" + up[i].Node)
		write(t, up[i], id, string(id), 2)
		for id, data := range before {
			if got := read(t, up[i], id); got != data {
				t.Errorf("%s has %d bytes of %s, not %d", up[i].Node, len(got), id, len(data))
			}
		}
	}
	for _, i := range rest {
		for _, k := range rest {
			if id := phalanx.ObjectID("after/" + up[k].Node); read(t, up[i], id) != string(id) {
				t.Errorf("%s does not have %s", up[i].Node, id)
			}
		}
		st, err := client(t, up[i].HTTP).Status(t.Context())
		if err != nil || st.MajorityLost || st.Unready != nil || st.Formed != 1 || len(st.Members) != 6 || len(st.MissingMembers) != 3 {
			t.Errorf("%s: %+v, %v", up[i].Node, st, err)
		}
	}
	until(t, "three of six vote", func() bool {
		st, err := client(t, up[rest[0]].HTTP).Status(t.Context())
		return err == nil && len(st.Voters) == 3
	})

	// The node that hung learns that it was removed, and joins again.
	signalAll(t, syscall.SIGCONT, nodes[hung])
	until(t, "the voter that hung has joined again", func() bool {
		st, err := client(t, up[hung].HTTP).Status(t.Context())
		return err == nil && st.Node != up[hung].Node && st.Formed == 1 && len(st.Members) == 7
	})
	st, err := client(t, up[rest[0]].HTTP).Status(t.Context())
	if err != nil || slices.Contains(st.MissingMembers, up[hung].Node) || len(st.MissingMembers) != 2 {
		t.Errorf("%+v, %v", st, err)
	}
	for id, data := range before {
		if read(t, up[hung], id) != data {
			t.Errorf("%s does not have %s", up[hung].Node, id)
		}
	}
	_ = nodes[hung].Process.Kill()
	_ = nodes[hung].Wait() // it was killed
	must(t, nodes[hung].errs.String(), "the cluster has removed this node")
}

// Three of five voters hang, and could decide among themselves when they go on. The others have
// formed the cluster anew by then: all three are fenced, and join again.
func TestVotersThatComeBackTogether(t *testing.T) {
	nodes, up := members(t, 7)
	looks := client(t, up[6].HTTP)
	var voters []phalanx.NodeID
	until(t, "five vote", func() bool {
		st, err := looks.Status(t.Context())
		voters = st.Voters
		return err == nil && len(voters) == 5
	})
	write(t, up[6], "before", "bytes", 4)
	var hang []*daemon
	var rest []int
	for i, r := range up {
		if slices.Contains(voters[:3], r.Node) {
			hang = append(hang, nodes[i])
		} else {
			rest = append(rest, i)
		}
	}
	signalAll(t, syscall.SIGSTOP, hang...)
	for _, i := range rest {
		until(t, "the majority is lost", func() bool {
			st, err := client(t, up[i].HTTP).Status(t.Context())
			return err == nil && st.MajorityLost && len(st.MissingVoters) == 3
		})
	}
	b := &bed{addr: up[rest[0]].HTTP, environ: []string{"PHALANX_ADDR=" + up[rest[0]].HTTP}}
	must(t, b.run(t, "", "recover"), "formed anew", "4 members")
	write(t, up[rest[1]], "after", "more bytes", 2)
	signalAll(t, syscall.SIGCONT, hang...)
	for _, r := range up {
		until(t, "all are in one cluster again", func() bool {
			st, err := client(t, r.HTTP).Status(t.Context())
			return err == nil && st.Unready == nil && st.Formed == 1 && len(st.Members) == 7 && len(st.MissingMembers) == 0 &&
				!slices.ContainsFunc(st.Members, func(m httpapi.Member) bool { return slices.Contains(voters[:3], m.Node) })
		})
	}
	for _, r := range up {
		if one, two := read(t, r, "before"), read(t, r, "after"); one != "bytes" || two != "more bytes" {
			t.Errorf("%s has %q and %q", r.Node, one, two)
		}
	}
}

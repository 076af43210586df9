package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// Messages to the store from inside the node.
type (
	fetchOver struct {
		object  phalanx.ObjectID
		arrival *arrival
	}
	left struct { // a caller went away, or a Reader was closed
		object phalanx.ObjectID
		id     uint64
	}
	// Pushed is an order of the owner of an object, from node From.
	Pushed struct {
		From phalanx.NodeID
		directory.Push
	}
	// LeaseAsked is the question of an owner whether a lease is in use.
	LeaseAsked struct {
		From phalanx.NodeID
		directory.AskLease
	}
	// ownShown tells that this node has a copy of an object of its own making.
	ownShown struct{ object phalanx.ObjectID }
	// originFinal tells that an object that this node makes is final.
	originFinal struct {
		object phalanx.ObjectID
		gen    phalanx.Generation
		meta   phalanx.Meta
		digest phalanx.Digest
	}
	streamsChanged struct{ object phalanx.ObjectID }
	flush          struct{} // the store answers it after all messages before it
	putCall        struct {
		req  storenode.Put
		done func(*storenode.PutDone)
		stop *stopper
	}
)

// Store is the actor that application actors talk to. It starts and finds the actors that
// work on objects, which leave their copies in the table.
type Store struct {
	env *Env
}

// NewStore returns the props of a node's store.
func NewStore(env *Env) *actor.Props {
	env.lifetime()
	return actor.PropsFromProducer(func() actor.Actor { return &Store{env: env} })
}

// Receive routes messages. After Close it refuses those of the application: the objects of
// copies here may have been deleted since.
func (s *Store) Receive(c actor.Context) {
	if s.env.isClosing() {
		if answer, ok := Refuse(c.Message(), s.env.Ended()); ok {
			responder(c)(answer)
			return
		}
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		for _, pid := range s.env.Given.holders(c.ActorSystem()) {
			follow(c, pid)
		}
	case *storenode.Get:
		s.get(c, *m)
	case *storenode.Open:
		s.open(c, *m)
	case *storenode.Put:
		s.put(*m, s.reply(c), &stopper{})
	case *storenode.Delete:
		s.env.Delete(m.Object, s.deadline(m.Deadline), s.replyWith(c, m.Object))
	case *storenode.Stat:
		s.env.Stat(m.Object, s.deadline(m.Deadline), s.statReply(c, m.Object))
	case *storenode.Prefetch:
		s.prefetch(c, *m)
	case *storenode.Reduce:
		respond := responder(c)
		r := *m
		r.Deadline = s.deadline(r.Deadline)
		s.env.Coordinators.Reduce(r, func(d storenode.Reduced) { respond(&d) })
	case *storenode.Gather:
		give, g := s.giver(c), *m
		go s.env.bounded(g.Deadline, func(ctx context.Context) { d := s.env.Gather(ctx, g, "gather"); give(&d) })
	case *storenode.AllReduce:
		give, r := s.giver(c), *m
		go s.env.bounded(r.Deadline, func(ctx context.Context) { d := s.env.AllReduce(ctx, r); give(&d) })
	case *storenode.Within:
		s.within(c, *m)
	case originFinal:
		s.settleOrigin(m)
	case supply:
		s.supply(c, m)
	case ownShown:
		s.ownShown(c, m.object)
	case want:
		s.want(c, m.call)
	case expiry:
		s.expire(c, m.call)
	case putCall:
		s.put(m.req, m.done, m.stop)
	case left:
		s.left(c, m)
	case lookedUp:
		s.lookedUp(c, m)
	case unanswered:
		s.tell(c, m.arrival, m.silent)
	case fetchOver:
		s.fetchOver(m)
	case Pushed:
		s.pushed(c, m)
	case LeaseAsked:
		s.leaseAsked(c, m)
	case streamsChanged:
		if a := s.arrival(m.object); a != nil {
			s.tell(c, a, readers{})
		}
	case *actor.Terminated:
		s.terminated(m)
	case flush:
		c.Respond(m)
	case actors.Crash:
		panic(m)
	default:
		s.remote(c)
	}
}

func (s *Store) deadline(d time.Duration) time.Duration {
	if d <= 0 {
		return s.env.Deadline
	}
	return d
}

// responder returns a function that answers the sender of the present message,
// also after Receive has returned.
func responder(c actor.Context) func(any) {
	sender, root := c.Sender(), c.ActorSystem().Root
	return func(m any) {
		if sender != nil {
			root.Send(sender, m)
		}
	}
}

func (s *Store) reply(c actor.Context) func(*storenode.PutDone) {
	respond := responder(c)
	return func(d *storenode.PutDone) { respond(d) }
}

func (s *Store) replyWith(c actor.Context, id phalanx.ObjectID) func(error) {
	respond := responder(c)
	return func(err error) { respond(&storenode.Deleted{Object: id, Err: err}) }
}

func (s *Store) statReply(c actor.Context, id phalanx.ObjectID) func(storenode.ObjectStat, error) {
	respond := responder(c)
	return func(st storenode.ObjectStat, err error) { respond(&storenode.Stated{Object: id, Stat: st, Err: err}) }
}

// get answers an application actor; the view is released when it ends.
func (s *Store) get(c actor.Context, m storenode.Get) {
	s.begin(c, &call{op: "get", object: m.Object, wait: !m.NoWait, deliver: s.giver(c)}, m.Deadline)
}

// open is the same for a reader.
func (s *Store) open(c actor.Context, m storenode.Open) {
	cl := openCall(m, s.giver(c))
	cl.idle = s.env.Deadline
	s.begin(c, cl, m.Deadline)
}

// giver returns a function that answers the sender and notes the views and the reader in it.
func (s *Store) giver(c actor.Context) func(any) {
	respond, sender, env := responder(c), c.Sender(), s.env
	follow(c, sender)
	return func(answer any) {
		if sender != nil {
			env.give(sender, answer)
			respond(answer)
			return
		}
		lost(&actor.DeadLetterEvent{Message: answer}) // there is no sender to take it
	}
}

func (s *Store) begin(c actor.Context, cl *call, deadline time.Duration) {
	cl.id, cl.over = s.env.nums.Add(1), make(chan struct{})
	if err := cl.object.Validate(); err != nil {
		cl.answer(nil, nil, err)
		return
	}
	env := s.env
	cl.timer = time.AfterFunc(s.deadline(deadline), func() { env.late(cl) })
	s.want(c, cl)
}

// want gives a caller its object: from the table, or by the fetch that brings it. It starts
// the fetch if there is none.
func (s *Store) want(c actor.Context, cl *call) {
	if cl.answered() { // the caller went away while the call was on its way to here
		return
	}
	switch have, way := s.env.Table.way(cl.object); way {
	case copies.Has:
		s.env.pin(cl, have)
		if !cl.reader {
			cl.answer(have.view(), nil, nil)
			return
		}
		r := newReader(cl, s.env.Table, have, nil)
		have.Release()
		if r == nil { // it was dropped meanwhile
			s.want(c, cl)
			return
		}
		cl.answer(nil, r, nil)
		return
	case copies.Makes:
		s.wantOwn(cl, have)
		return
	}
	a := s.arrival(cl.object)
	switch {
	case a == nil:
		s.lookUp(cl)
		return
	case a.pid == nil:
		a.add(cl)
		s.startFetch(c, a)
	default:
		a.add(cl)
		s.env.send(a.pid, want{cl})
	}
}

// wantOwn has a caller wait for an object that this node makes itself: no other node could
// send it.
func (s *Store) wantOwn(cl *call, c *objectCopy) {
	env := s.env
	if cl.reader {
		if r := newReader(cl, env.Table, c, nil); r != nil {
			if cl.answer(nil, r, nil) {
				go func() {
					if err := env.missed(c, r.end); err != nil {
						r.fail(err)
					}
				}()
			}
			return
		}
	}
	go func() {
		if err := env.missed(c, cl.over); err != nil {
			cl.answer(nil, nil, err)
		} else if !cl.answered() {
			env.send(env.StorePID, want{cl})
		}
	}()
}

// ownShown has the callers that wait for a fetch of an object wait for this node's own copy,
// which has just begun.
func (s *Store) ownShown(c actor.Context, id phalanx.ObjectID) {
	a := s.arrival(id)
	if a == nil {
		return
	}
	calls := a.take()
	if a.pid == nil {
		s.abandon(a)
	}
	for _, cl := range calls {
		if a.pid != nil {
			s.env.send(a.pid, leave{id: cl.id, taken: true})
		}
		s.want(c, cl) // the call may come back to this fetch, if the node's own copy is gone already
	}
}

func (s *Store) arrival(id phalanx.ObjectID) *arrival {
	s.env.active.mu.Lock()
	defer s.env.active.mu.Unlock()
	return s.env.active.fetches[id]
}

// fetchOver retires a fetch that is done; callers that came meanwhile begin again.
func (s *Store) fetchOver(m fetchOver) {
	s.env.active.mu.Lock()
	if s.env.active.fetches[m.object] == m.arrival {
		delete(s.env.active.fetches, m.object)
	}
	s.env.active.mu.Unlock()
	s.env.send(m.arrival.pid, retire{})
}

// terminated hears of a fetch that died before it was done, and of actors
// whose views are to be released.
func (s *Store) terminated(m *actor.Terminated) {
	s.env.active.mu.Lock()
	var dead *arrival
	for id, a := range s.env.active.fetches {
		if a.pid != nil && a.pid.Equal(m.Who) {
			dead = a
			delete(s.env.active.fetches, id)
			break
		}
	}
	s.env.active.mu.Unlock()
	if dead != nil {
		for _, cl := range dead.take() {
			cl.answer(nil, nil, &phalanx.Error{Node: s.env.Self, Kind: phalanx.ErrInternal, Err: errors.New("the actor that fetched it failed")})
		}
		return
	}
	s.env.Given.end(m.Who)
}

// expiry tells that a call's deadline has passed.
type expiry struct{ *call }

// expire has the fetch answer a late call with the reason; without a fetch no actor works on it.
func (s *Store) expire(c actor.Context, cl *call) {
	if a := s.arrival(cl.object); a != nil {
		s.tell(c, a, expired{cl})
		return
	}
	err := &phalanx.Error{Node: s.env.Self, Kind: phalanx.ErrDeadline, Err: errors.New("the object has not arrived")}
	if c := s.env.Table.lookup(cl.object); c != nil && c.Origin && !c.isOver() {
		err.Err = errors.New("the object is not final: its creator has not finished")
	}
	cl.answer(nil, nil, err)
}

func (s *Store) left(c actor.Context, m left) {
	if a := s.arrival(m.object); a != nil {
		s.tell(c, a, leave{id: m.id})
	}
}

func (s *Store) put(req storenode.Put, done func(*storenode.PutDone), stop *stopper) {
	fail := func(err error) { done(&storenode.PutDone{Object: req.Object, Err: withOp("put", req.Object, err)}) }
	if req.Reader == nil {
		req.Meta.Size = int64(len(req.Bytes))
	}
	req.Deadline = s.deadline(req.Deadline)
	if err := req.Object.Validate(); err != nil {
		fail(err)
		return
	}
	if err := req.Meta.Validate(); err != nil {
		fail(err)
		return
	}
	if req.Copies < 0 {
		fail(invalid("put", req.Object, "Copies is %d: give 1 or more, or 0 for 1", req.Copies))
		return
	}
	if limit := s.env.Pool.Budget().Cap(); req.Meta.Size > limit {
		fail(&phalanx.Error{Node: s.env.Self, Kind: phalanx.ErrNoSpace,
			Err: fmt.Errorf("its %d bytes are more than the node's memory cap of %d; start nodes with a larger --memory", req.Meta.Size, limit)})
		return
	}
	if _, err := s.env.Spawn(newPut(s.env, req, done, stop), fmt.Sprintf("put-%d", s.env.nums.Add(1))); err != nil {
		fail(err)
	}
}

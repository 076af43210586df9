package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// Bounds of what an attempt makes.
const (
	maxPuts     = 10_000   // objects
	maxProgress = 64 << 10 // bytes
	maxPutName  = 64       // bytes
)

// inputName is the name of an object with an input of a reduce, with its number behind it. No Put of a task has a
// name that begins with a dot.
const inputName = ".input"

// life is what an attempt has done, and may do, until it ends.
type life struct {
	key    string
	prefix string // of the ids of its objects
	a      *attempt
	store  objects
	beat   func([]byte)

	calls sync.WaitGroup // of the task that go on

	mu      sync.Mutex
	over    bool
	beats   func()       // called at each Beat, under mu
	refs    map[Ref]bool // that the task was given or has made
	names   map[string]phalanx.Digest
	made    []Ref
	tried   map[phalanx.ObjectID]bool // of which there may be objects
	missing []phalanx.ObjectID
	lacks   map[phalanx.ObjectID]bool // those of missing
	views   map[*storenode.View]bool  // not released: the end does it

	sources *flow.Sources                     // nil: no input names an object
	metas   map[phalanx.ObjectID]phalanx.Meta // of objects that the attempt has made or read
	torn    map[core.Blob]bool                // inputs that name an object that no node has
	unsaved map[core.Blob]bool                // those of them whose checkpoint is gone
	closed  bool                              // the store has refused a call: the node leaves

	stage   stage                  // nil: there are no actors
	by      string                 // the Prefix of the attempt: versions of actors are named by it
	given   map[flow.ActorAt]*seat // actors in arguments
	seats   []*seat                // these, and those that the attempt has made
	spawned map[string]bool        // names of these
	actors  *flow.Seats            // what it decides about seats
	inner   context.Context        // of the function; nil: it has not begun
	looked  map[Ref]bool           // objects that are there, of arguments of actors
	larges  int                    // arguments and results of actors that were objects
	calling map[string]int         // calls of actors that go on, by actor and method
}

func newLife(a *attempt, store objects, beat func([]byte)) *life {
	id := a.id
	if id.IsZero() {
		id = a.made
	}
	by := flow.Prefix(a.run, a.path, a.gen, id, false)
	return &life{by: by, actors: flow.NewSeats(by), key: keyOf(a), prefix: prefixOf(a), a: a, store: store, beat: beat, refs: map[Ref]bool{}, names: map[string]phalanx.Digest{}, tried: map[phalanx.ObjectID]bool{}, lacks: map[phalanx.ObjectID]bool{}, views: map[*storenode.View]bool{},
		metas: map[phalanx.ObjectID]phalanx.Meta{}}
}

// keyOf returns the key of an attempt (workflow specification 1.2): that of a task with an undo has the generation, since the effect counts anew
// once it was undone.
func keyOf(a *attempt) string {
	if a.call.Effect == core.Undo {
		return fmt.Sprintf("%s/%s/%d", a.run, a.path, a.gen)
	}
	return a.run + "/" + a.path
}

// prefixOf returns how the ids of an attempt's objects begin.
func prefixOf(a *attempt) string {
	return flow.Prefix(a.run, a.path, a.gen, a.made, a.call.Deterministic)
}

func (l *life) know(r Ref) error {
	l.mu.Lock()
	l.refs[r] = true
	l.mu.Unlock()
	return nil
}

// knows reports whether the task was given a Ref or has made it.
func (l *life) knows(r Ref) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.IsZero() || l.refs[r]
}

// begin notes that the task makes a call; it fails once the attempt has ended.
func (l *life) begin(op string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return &phalanx.Error{Op: op, Kind: phalanx.ErrClosed, Err: fmt.Errorf("task %s: %w", l.a.call, ErrEnded)}
	}
	l.calls.Add(1)
	return nil
}

// end has further calls fail, and returns which calls of actors go on. Views that the task keeps are released.
func (l *life) end() (unanswered string) {
	l.mu.Lock()
	l.over = true
	unanswered = strings.Join(slices.Sorted(maps.Keys(l.calling)), ", ")
	l.mu.Unlock()
	l.release()
	return unanswered
}

// release releases all views.
func (l *life) release() {
	l.mu.Lock()
	views := l.views
	l.views = map[*storenode.View]bool{}
	l.mu.Unlock()
	for v := range views {
		v.Release()
	}
}

// holder holds a view of the store for one that the task has, so that nothing is kept of what the task has released.
type holder struct {
	life *life
	of   *storenode.View
	own  *storenode.View // the task's
}

func (h *holder) Release() {
	h.life.mu.Lock()
	delete(h.life.views, h.own)
	h.life.mu.Unlock()
	h.of.Release()
}

// onBeat has f called at each Beat.
func (l *life) onBeat(f func()) {
	l.mu.Lock()
	l.beats = f
	l.mu.Unlock()
}

func (l *life) beaten(progress []byte) error {
	if len(progress) > maxProgress {
		return invalid("beat", fmt.Errorf("the progress has %d bytes, more than %d", len(progress), maxProgress))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.beats != nil {
		l.beats()
	}
	if l.beat != nil && progress != nil {
		l.beat(append([]byte{}, progress...))
	}
	return nil
}

// get returns a view, which the end of the attempt releases.
func (l *life) get(ctx context.Context, r Ref) (*storenode.View, error) {
	if l.a.keeps != nil {
		l.a.keeps(r.id)
	}
	var v *storenode.View
	err := l.orAgain(ctx, r.id, func() (err error) {
		v, err = l.store.TryGet(ctx, r.id)
		return err
	})
	if err == nil && (v.Info().Digest != r.digest || v.Meta().Size != r.size) {
		v.Release()
		return nil, errUnlike(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	l.metas[r.id] = v.Meta()
	if l.over {
		v.Release()
		return nil, &phalanx.Error{Op: "get", Object: r.id, Kind: phalanx.ErrClosed, Err: ErrEnded}
	}
	h := &holder{life: l, of: v}
	h.own = storenode.NewView(v.Info(), v.Bytes(), h)
	l.views[h.own] = true
	return h.own, nil
}

// gone reports whether no node has an object any more.
func gone(err error) bool {
	return errors.Is(err, phalanx.ErrNotFound) || errors.Is(err, phalanx.ErrLost) || errors.Is(err, phalanx.ErrDeleted)
}

// put makes an object of the attempt.
func (l *life) put(ctx context.Context, name string, data []byte, meta phalanx.Meta) (Ref, error) {
	id := phalanx.ObjectID(l.prefix + name)
	if name[0] != '.' {
		d := dataplane.DigestBytes(data)
		id = flow.NamedID(l.a.run, l.a.path, l.a.gen, l.a.made, l.a.call.Deterministic, d, name)
		if err := l.name(id, name, d); err != nil {
			return Ref{}, err
		}
	}
	l.tries(id)
	info, err := l.store.Put(ctx, id, data, meta)
	if err != nil {
		l.refused(err)
		return Ref{}, l.unlike(id, err)
	}
	r := RefOf(info)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.refs[r] {
		l.refs[r] = true
		l.made = append(l.made, r)
	}
	l.metas[id] = info.Meta
	return r, nil
}

// tries notes an id before the call that makes the object: if that fails there may be one all the same.
func (l *life) tries(id phalanx.ObjectID) {
	l.mu.Lock()
	l.tried[id] = true
	l.mu.Unlock()
	if l.a.keeps != nil {
		l.a.keeps(id)
	}
}

// name takes a name for an object.
func (l *life) name(id phalanx.ObjectID, name string, d phalanx.Digest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, is := l.names[name]
	switch {
	case is && old != d:
		return errOtherBytes(id)
	case !is && len(l.names) >= maxPuts:
		return invalid("put", fmt.Errorf("the attempt has made %d objects already", maxPuts))
	}
	l.names[name] = d
	return nil
}

func errOtherBytes(id phalanx.ObjectID) error {
	return &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrExists, Err: errors.New("the attempt has put other bytes under this name before")}
}

// refused notes that the store of the node is closed.
func (l *life) refused(err error) {
	if errors.Is(err, phalanx.ErrClosed) {
		l.mu.Lock()
		l.closed = true
		l.mu.Unlock()
	}
}

// unlike says what it means that an object has other bytes than those that were put before.
func (l *life) unlike(id phalanx.ObjectID, err error) error {
	if !errors.Is(err, phalanx.ErrExists) {
		return err
	}
	if l.a.call.Deterministic {
		return Permanent(&phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrMismatch, Err: fmt.Errorf("%w: %s", ErrNotDeterministic, l.a.call)})
	}
	return errOtherBytes(id)
}

// checkPutName says what is wrong with the name of an object.
func checkPutName(name string) error {
	switch {
	case name == "" || len(name) > maxPutName || !utf8.ValidString(name):
		return fmt.Errorf("the name of an object has %d bytes; it has 1 to %d, of UTF-8", len(name), maxPutName)
	case name[0] == '.':
		return fmt.Errorf("the name %q begins with a dot", name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("the name %q has a character that does not print", name)
	}
	return nil
}

// attemptContext is the Context that a task is given.
type attemptContext struct {
	context.Context
	life *life
}

var _ Context = (*attemptContext)(nil)

// lifeKey is the key under which a Context has its attempt, also if a context was derived from it.
type lifeKey struct{}

func (c *attemptContext) Value(key any) any {
	if key == (lifeKey{}) {
		return c.life
	}
	return c.Context.Value(key)
}

func (c *attemptContext) Key() string { return c.life.key }

func (c *attemptContext) Fence() Fence { return c.life.a.fence }

func (c *attemptContext) Attempt() int { return c.life.a.number }

func (c *attemptContext) LastBeat() []byte { return c.life.a.progress }

func (c *attemptContext) Beat(progress []byte) error {
	if err := c.life.begin("beat"); err != nil {
		return err
	}
	defer c.life.calls.Done()
	if c.Err() != nil {
		return reason(c)
	}
	return c.life.beaten(progress)
}

func (c *attemptContext) Put(name string, data []byte) (Ref, error) {
	return c.PutAs(name, data, phalanx.Meta{})
}

func (c *attemptContext) PutAs(name string, data []byte, meta phalanx.Meta) (Ref, error) {
	if err := c.life.begin("put"); err != nil {
		return Ref{}, err
	}
	defer c.life.calls.Done()
	if err := checkPutName(name); err != nil {
		return Ref{}, invalid("put", err)
	}
	return c.life.put(c, name, data, meta)
}

func (c *attemptContext) Get(r Ref) (*storenode.View, error) {
	if err := c.life.begin("get"); err != nil {
		return nil, err
	}
	defer c.life.calls.Done()
	if r.IsZero() || !c.life.knows(r) {
		return nil, invalid("get", fmt.Errorf("%w: %q", ErrStrangeRef, r.id))
	}
	return c.life.get(c, r)
}

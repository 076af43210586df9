package barrier

import (
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Key names a barrier. Each generation of a name is a barrier of its own.
type Key struct {
	Name       string
	Generation uint64
}

func (k Key) String() string {
	if k.Generation == 0 {
		return k.Name
	}
	return fmt.Sprintf("%s/%d", k.Name, k.Generation)
}

// LateMode says whether a participant goes on that comes after the barrier has fired.
type LateMode uint8

// The late modes of the paper (section 3.1).
const (
	PassThrough LateMode = iota // it goes on, and is told that it is late
	CatchUp                     // it gets an error
)

func (m LateMode) String() string {
	if m == CatchUp {
		return "catch-up"
	}
	return "pass-through"
}

// Config is the configuration of a barrier, the same for all participants.
type Config struct {
	Max     int           // units that there are at most: labels where they are used, else hosts
	Timeout time.Duration // so long after the first entry the barrier fires in any case; 0: never
	Percent int           // of Max that are enough, 1 to 100; 0: all
	MinWait time.Duration // after the first entry, before Percent is enough
	Late    LateMode
	Double  bool     // participants that have passed leave together (Leave): a double barrier
	Expect  []string // the units for which the barrier waits, if they are known: errors name the absent ones, and no other unit can enter

	Callback        bool          // whether a callback decides
	CallbackTimeout time.Duration // the longest time between two calls of it, and how long it may take; 0: time alone does not call it, and it may take a second

	Knee      Knee
	Throttle  Throttle
	Semaphore Semaphore
}

// Knee has the barrier fire where its arrivals slow down. Knees are found early
// that are none, so a minimum is needed; where both are set, both have to be met.
type Knee struct {
	Percent int           // of Max
	Time    time.Duration // after the first entry
}

func (k Knee) on() bool { return k != Knee{} }

// Throttle lets participants through a few at a time once the barrier has fired.
type Throttle struct {
	Percent int // of Max, each time; or
	Count   int
	Period  time.Duration
}

func (t Throttle) on() bool { return t != Throttle{} }

// Semaphore bounds how many participants are in a critical section, between
// Enter and Release. It does not wait for a number of them.
type Semaphore struct {
	Count    int           // how many hold it at most; with Adaptive: at first
	Timeout  time.Duration // after which a holder is taken for failed; 0: never
	Adaptive bool          // the number follows how long holders take
	Cap      int           // how many hold it ever, if that changes: by Adaptive, or by a callback (then 0 is Count)
	Callback bool          // whether a callback says how many entries replace one that releases
}

// Patience is how long a call without a deadline may take: a minute longer than the barrier
// itself waits.
func (c Config) Patience() time.Duration {
	return time.Minute + max(c.Timeout, c.Semaphore.Timeout)
}

// None reports whether there is no configuration.
func (c Config) None() bool { return c.Max == 0 && !c.Semaphore.on() }

func (s Semaphore) on() bool { return s != Semaphore{} }

// Bounds of input from applications and from the wire.
const (
	MaxLabel   = 256     // bytes of a label, a host or a name
	MaxUnits   = 1 << 16 // of Max
	MaxExpect  = 1 << 20 // bytes of the names in Expect, with 3 for each: they go in one message
	maxTimeout = 10000 * time.Hour
)

// FieldError says which field of a barrier's configuration, or of an entry, cannot
// be. It is a phalanx.ErrInvalid.
type FieldError struct {
	Field string
	Text  string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

// Is makes it a phalanx.ErrInvalid.
func (e *FieldError) Is(target error) bool { return target == error(phalanx.ErrInvalid) }

// Validate returns a *FieldError, or nil.
func (c Config) Validate() error {
	bad := func(field, format string, args ...any) error {
		return &FieldError{Field: field, Text: fmt.Sprintf(format, args...)}
	}
	for _, t := range []struct {
		field string
		d     time.Duration
	}{{"Timeout", c.Timeout}, {"MinWait", c.MinWait}, {"CallbackTimeout", c.CallbackTimeout}, {"Knee.Time", c.Knee.Time}, {"Throttle.Period", c.Throttle.Period},
		{"Semaphore.Timeout", c.Semaphore.Timeout}} {
		if t.d < 0 || t.d > maxTimeout {
			return bad(t.field, "%v is not 0 to %v", t.d, maxTimeout)
		}
	}
	for _, p := range []struct {
		field   string
		percent int
	}{{"Percent", c.Percent}, {"Knee.Percent", c.Knee.Percent}, {"Throttle.Percent", c.Throttle.Percent}} {
		if p.percent < 0 || p.percent > 100 {
			return bad(p.field, "%d is not 0 to 100", p.percent)
		}
	}
	if c.Max > MaxUnits || c.Max < 1 && (c.Max < 0 || !c.Semaphore.on()) {
		return bad("Max", "%d is not 1 to %d", c.Max, MaxUnits)
	}
	if c.Late > CatchUp {
		return bad("Late", "%d is no late mode", c.Late)
	}
	if len(c.Expect) > 0 && len(c.Expect) != c.Max {
		return bad("Expect", "%d units are named, and Max is %d", len(c.Expect), c.Max)
	}
	if w := expectWeight(c.Expect); w > MaxExpect {
		return bad("Expect", "its %d names have %d bytes, with 3 for each, and %d are the limit: give shorter names, or leave it out", len(c.Expect), w, MaxExpect)
	}
	seen := make(map[string]bool, len(c.Expect))
	for _, name := range c.Expect {
		if err := validName("Expect", name); err != nil {
			return err
		}
		if seen[name] {
			return bad("Expect", "%q is named twice", name)
		}
		seen[name] = true
	}
	if c.Callback && c.CallbackTimeout == 0 && c.Timeout == 0 {
		return bad("CallbackTimeout", "CallbackTimeout and Timeout are 0: after a veto nothing could fire the barrier")
	}
	if !c.Callback && c.CallbackTimeout != 0 {
		return bad("CallbackTimeout", "there is no callback to call: Callback is not set")
	}
	return c.validRelease(bad)
}

func (c Config) validRelease(bad func(field, format string, args ...any) error) error {
	t, s := c.Throttle, c.Semaphore
	switch {
	case t.Percent != 0 && t.Count != 0:
		return bad("Throttle", "Percent and Count are both set")
	case t.Count < 0 || t.Count > MaxUnits:
		return bad("Throttle.Count", "%d is not 1 to %d", t.Count, MaxUnits)
	case t.on() && t.Percent == 0 && t.Count == 0:
		return bad("Throttle", "neither Percent nor Count is set")
	case t.on() && t.Period == 0:
		return bad("Throttle.Period", "it is not set")
	case t.on() && s.on():
		return bad("Semaphore", "Throttle and Semaphore are both set")
	case s.on() && (s.Count < 1 || s.Count > MaxUnits):
		return bad("Semaphore.Count", "%d is not 1 to %d", s.Count, MaxUnits)
	case s.on() && (c.Timeout != 0 || c.Percent != 0 || c.MinWait != 0 || c.Callback || c.Knee.on()):
		return bad("Semaphore", "a semaphore waits for no number of entries: leave out Timeout, Percent, MinWait, Callback and Knee")
	case s.on() && c.Double:
		return bad("Double", "holders leave a semaphore one by one: Double and Semaphore are both set")
	case s.Adaptive && s.Cap < s.Count:
		return bad("Semaphore.Cap", "%d is less than Count, %d: set it to the greatest number of holders", s.Cap, s.Count)
	case !s.Adaptive && !s.Callback && s.Cap != 0:
		return bad("Semaphore.Cap", "Cap bounds a number that changes, and neither Adaptive nor Callback is set")
	case s.Callback && s.Cap != 0 && s.Cap < s.Count:
		return bad("Semaphore.Cap", "%d is less than Count, %d", s.Cap, s.Count)
	case s.Cap > MaxUnits:
		return bad("Semaphore.Cap", "%d is not 1 to %d", s.Cap, MaxUnits)
	case s.Adaptive && s.Callback:
		return bad("Semaphore.Callback", "an adaptive semaphore decides itself how many enter")
	}
	return nil
}

// Expects returns a *FieldError if Expect has units and the entry's unit is not among them,
// or nil.
func (c Config) Expects(e Entry) error {
	if len(c.Expect) == 0 || slices.Contains(c.Expect, e.Unit()) {
		return nil
	}
	field := "Host"
	if e.Label != "" {
		field = "Label"
	}
	return &FieldError{Field: field, Text: fmt.Sprintf("Expect does not name %q", e.Unit())}
}

// Equal reports whether both are the same, and if not which field differs.
func (c Config) Equal(d Config) (field string, same bool) {
	for _, f := range []struct {
		name string
		same bool
	}{
		{"Max", c.Max == d.Max}, {"Timeout", c.Timeout == d.Timeout}, {"Percent", c.Percent == d.Percent}, {"MinWait", c.MinWait == d.MinWait},
		{"Late", c.Late == d.Late}, {"Double", c.Double == d.Double}, {"Expect", slices.Equal(c.Expect, d.Expect)}, {"Callback", c.Callback == d.Callback}, {"CallbackTimeout", c.CallbackTimeout == d.CallbackTimeout},
		{"Knee", c.Knee == d.Knee}, {"Throttle", c.Throttle == d.Throttle}, {"Semaphore", c.Semaphore == d.Semaphore},
	} {
		if !f.same {
			return f.name, false
		}
	}
	return "", true
}

// batch is how many are let through at a time; 0: all.
func (c Config) batch() int {
	if c.Throttle.Percent > 0 {
		return max(1, (c.Max*c.Throttle.Percent+99)/100)
	}
	return c.Throttle.Count
}

// Validate returns a *FieldError if no barrier can have that name, or nil.
func (k Key) Validate() error { return validName("Name", k.Name) }

// Entry names a participant: a host, and a label if the barrier waits for tasks and not for
// hosts.
type Entry struct {
	Host  string
	Label string
}

// Validate returns a *FieldError, or nil.
func (e Entry) Validate() error {
	if e.Label != "" {
		if err := validName("Label", e.Label); err != nil {
			return err
		}
	}
	return validName("Host", e.Host)
}

// Unit is the unit that the barrier counts: a label, or a host without one.
func (e Entry) Unit() string {
	if e.Label != "" {
		return e.Label
	}
	return e.Host
}

func (e Entry) String() string {
	if e.Label == "" {
		return e.Host
	}
	return e.Label + "@" + e.Host
}

func validName(field, s string) error {
	if s == "" || len(s) > MaxLabel {
		return &FieldError{Field: field, Text: fmt.Sprintf("%d bytes are not 1 to %d", len(s), MaxLabel)}
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return &FieldError{Field: field, Text: fmt.Sprintf("%q has characters that cannot be printed", s)}
		}
	}
	return nil
}

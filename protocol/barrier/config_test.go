package barrier_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// What cannot be is said to be invalid, by the name of the field.
func TestBadConfigs(t *testing.T) {
	semaphore := barrier.Semaphore{Count: 2}
	for field, c := range map[string]barrier.Config{
		"Max":                {},
		"Max ":               {Max: -1, Semaphore: semaphore},
		"Max  ":              {Max: barrier.MaxUnits + 1},
		"Percent":            {Max: 1, Percent: 101},
		"Percent ":           {Max: 1, Percent: -1},
		"Timeout":            {Max: 1, Timeout: -1},
		"MinWait":            {Max: 1, MinWait: -1},
		"Late":               {Max: 1, Late: 2},
		"Expect":             {Max: 2, Expect: []string{"a"}},
		"Expect ":            {Max: 2, Expect: []string{"a", "a"}},
		"Expect  ":           {Max: 1, Expect: []string{strings.Repeat("x", 257)}},
		"CallbackTimeout":    {Max: 1, Callback: true},
		"CallbackTimeout ":   {Max: 1, CallbackTimeout: time.Second},
		"Knee.Percent":       {Max: 1, Knee: barrier.Knee{Percent: 101}},
		"Throttle":           {Max: 1, Throttle: barrier.Throttle{Percent: 10, Count: 1, Period: 1}},
		"Throttle ":          {Max: 1, Throttle: barrier.Throttle{Period: 1}},
		"Throttle.Period":    {Max: 1, Throttle: barrier.Throttle{Count: 1}},
		"Throttle.Count":     {Max: 1, Throttle: barrier.Throttle{Count: -1, Period: 1}},
		"Throttle.Percent":   {Max: 1, Throttle: barrier.Throttle{Percent: 101, Period: 1}},
		"Semaphore.Count":    {Semaphore: barrier.Semaphore{Timeout: 1}},
		"Semaphore":          {Max: 1, Percent: 50, Semaphore: semaphore},
		"Semaphore ":         {Max: 1, Throttle: barrier.Throttle{Count: 1, Period: 1}, Semaphore: semaphore},
		"Semaphore.Cap":      {Semaphore: barrier.Semaphore{Count: 3, Adaptive: true, Cap: 2}},
		"Semaphore.Cap ":     {Semaphore: barrier.Semaphore{Count: 3, Cap: 4}},
		"Semaphore.Callback": {Semaphore: barrier.Semaphore{Count: 3, Adaptive: true, Cap: 4, Callback: true}},
		"Semaphore.Timeout":  {Semaphore: barrier.Semaphore{Count: 3, Timeout: -1}},
		"Semaphore.Timeout ": {Semaphore: barrier.Semaphore{Count: 3, Timeout: 1 << 62}},
	} {
		err := c.Validate()
		var bad *barrier.FieldError
		if !errors.As(err, &bad) || bad.Field != strings.TrimSpace(field) || !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%s: %+v: %v", field, c, err)
		}
	}
	for _, c := range []barrier.Config{
		{Max: 1}, {Max: 10, Percent: 100, Timeout: 1, MinWait: 2, Late: barrier.CatchUp}, {Semaphore: semaphore},
		{Max: 3, Callback: true, CallbackTimeout: 1}, {Max: 3, Callback: true, Timeout: 1}, {Max: 1, Throttle: barrier.Throttle{Percent: 10, Period: 1}},
		{Semaphore: barrier.Semaphore{Count: 3, Adaptive: true, Cap: 3}}, {Max: 2, Expect: []string{"a", "b"}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestBadEntries(t *testing.T) {
	for field, e := range map[string]barrier.Entry{
		"Host":   {},
		"Host ":  {Host: strings.Repeat("x", 257)},
		"Host  ": {Host: "a\nb"},
		"Label":  {Host: "a", Label: strings.Repeat("x", 257)},
		"Label ": {Host: "a", Label: "\x00"},
	} {
		var bad *barrier.FieldError
		if err := e.Validate(); !errors.As(err, &bad) || bad.Field != strings.TrimSpace(field) {
			t.Errorf("%q: %v", e, err)
		}
	}
	if err := (barrier.Key{}).Validate(); err == nil {
		t.Error("a barrier without a name")
	}
	if err := (barrier.Entry{Host: strings.Repeat("x", 256), Label: strings.Repeat("é", 128)}).Validate(); err != nil {
		t.Error(err)
	}
}

// Two that differ are told apart, whatever the field.
func TestConfigsDiffer(t *testing.T) {
	base := barrier.Config{Max: 3, Timeout: 1, Percent: 50, MinWait: 1, Expect: []string{"a", "b", "c"}}
	if field, same := base.Equal(base); !same {
		t.Errorf("%s differs from itself", field)
	}
	for want, change := range map[string]func(*barrier.Config){
		"Max": func(c *barrier.Config) { c.Max++ }, "Timeout": func(c *barrier.Config) { c.Timeout++ }, "Percent": func(c *barrier.Config) { c.Percent++ },
		"MinWait": func(c *barrier.Config) { c.MinWait++ }, "Late": func(c *barrier.Config) { c.Late++ }, "Expect": func(c *barrier.Config) { c.Expect = nil },
		"Callback": func(c *barrier.Config) { c.Callback = true }, "CallbackTimeout": func(c *barrier.Config) { c.CallbackTimeout++ }, "Knee": func(c *barrier.Config) { c.Knee.Percent++ },
		"Throttle": func(c *barrier.Config) { c.Throttle.Count++ }, "Semaphore": func(c *barrier.Config) { c.Semaphore.Count++ },
	} {
		other := base
		change(&other)
		if field, same := base.Equal(other); same || field != want {
			t.Errorf("%s: %q, %v", want, field, same)
		}
	}
}

// TestExpectIsBounded checks that names which do not go in one message are refused when the
// barrier is opened, and that the error says how many bytes may be there.
func TestExpectIsBounded(t *testing.T) {
	named := func(n, length int) barrier.Config {
		c := barrier.Config{Max: n}
		for i := range n {
			c.Expect = append(c.Expect, fmt.Sprintf("%0*d", length, i))
		}
		return c
	}
	var bad *barrier.FieldError
	if err := named(40_000, 250).Validate(); !errors.As(err, &bad) || bad.Field != "Expect" || !strings.Contains(err.Error(), fmt.Sprint(barrier.MaxExpect)) {
		t.Errorf("40,000 names of 250 bytes: %v", err)
	}
	if err := named(4_000, 250).Validate(); err != nil {
		t.Errorf("4,000 names of 250 bytes: %v", err)
	}
}

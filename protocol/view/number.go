package view

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
)

// The number of a view. Its upper part says in which form the cluster is: 0 as it was
// begun, another one for each time that an operator had it formed anew (form.go). Every
// view of a later form has a greater number than all views of earlier ones, so that a later
// form prevails wherever views are compared. Numbers are below 2^52: readers of JSON may
// take them for floating-point numbers.
//
//	| round, 10 bits | tag, 10 bits | counter, 32 bits |
//	 `------- form --------------'
//
// The round rises with each forming. The tag is of the node that forms: two nodes that form
// at the same time, out of each other's reach, make different forms, and one prevails. Its
// highest bit is 0 if the operator used force: a form for which most members have halted
// prevails over a form that few have made.
const (
	counterBits = 32
	tagBits     = 10
	roundBits   = 10
	maxRounds   = 1<<roundBits - 1
	maxNumber   = 1<<(roundBits+tagBits+counterBits) - 1
)

// Form is the upper part of a view's number.
type Form uint32

// Form returns in which form the cluster is, as of v.
func (v View) Form() Form { return formOf(v.Number) }

func formOf(number uint64) Form { return Form(number >> counterBits) }

// Round returns how often the cluster had been formed anew.
func (f Form) Round() int { return int(f >> tagBits) }

// first returns the number of the first view of f, after one with the number before.
func (f Form) first(before uint64) uint64 {
	return uint64(f)<<counterBits | uint64(uint32(before)+1)
}

// after returns the form that by makes where the cluster was in f.
func (f Form) after(by phalanx.NodeID, force bool) (Form, error) {
	if f.Round() >= maxRounds {
		return 0, fmt.Errorf("the cluster was formed anew %d times, which is the most: start it anew", maxRounds)
	}
	tag := Form(mix(fnv(by)) & (unforced - 1))
	if !force {
		tag |= unforced
	}
	return Form(f.Round()+1)<<tagBits | tag, nil
}

// unforced is the highest bit of a tag.
const unforced = 1 << (tagBits - 1)

// forced reports whether the operator used force.
func (f Form) forced() bool { return f&unforced == 0 }

// Numbered returns a view's number for people: its counter, and how often the cluster had
// been formed anew, if it was.
func Numbered(number uint64) string {
	if f := formOf(number); f != 0 {
		return fmt.Sprintf("%d of form %d-%d", uint32(number), f.Round(), f&(1<<tagBits-1))
	}
	return fmt.Sprint(number)
}

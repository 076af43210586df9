package workflow

import (
	"strings"

	"github.com/phalanx-go/phalanx"
)

// CheckCall says what is wrong with a call, whatever run it is for; nil: nothing. A host asks before it sends the call: one
// that is too long for its message, or is no UTF-8, would never arrive.
func CheckCall(c Call) error {
	switch c := c.(type) {
	case StartRun:
		return CheckID(c.ID)
	case AttachRun:
		return CheckID(c.ID)
	case AwaitResult:
		return CheckID(c.ID)
	case GetStatus:
		return CheckID(c.ID)
	case CancelRun:
		return CheckID(c.ID)
	case ForgetRun:
		return CheckID(c.ID)
	case ListRuns:
		for _, s := range []string{c.Prefix, c.After} {
			if s == "" {
				continue
			}
			if err := CheckID(s); err != nil {
				return err
			}
		}
	case ResumeRun:
		if len(c.With) > MaxVersions {
			return invalid("%d versions are given, more than %d", len(c.With), MaxVersions)
		}
		for _, f := range c.With {
			if f.Name == "" || len(f.Name) > phalanx.MaxIDBytes || strings.ToValidUTF8(f.Name, "") != f.Name || f.Version < 0 || f.Version > 1<<31-1 {
				return invalid("no function is called %.300q with version %d", f.Name, f.Version)
			}
		}
		return CheckID(c.ID)
	case SignalRun:
		switch {
		case c.Name == "" || len(c.Name) > MaxSignalName || len(c.Key) > MaxSignalName:
			return invalid("the name of a signal has 1 to %d bytes, and its id as many at most", MaxSignalName)
		case strings.ToValidUTF8(c.Name+c.Key, "") != c.Name+c.Key:
			return invalid("the name or the id of the signal %.300q is not UTF-8", c.Name)
		case len(c.Bytes) > MaxSignal:
			return invalid("the signal %.300q has %d bytes, more than %d: send a Ref", c.Name, len(c.Bytes), MaxSignal)
		}
		return CheckID(c.ID)
	}
	return nil
}

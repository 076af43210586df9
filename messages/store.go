package messages

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Prefetch asks a node to get objects.
type Prefetch struct {
	Objects []phalanx.ObjectID
	Timeout time.Duration // from the arrival of the request
}

// PrefetchToProto returns p as a message.
func PrefetchToProto(p Prefetch) *PrefetchRequest {
	return &PrefetchRequest{Objects: fromStrings(p.Objects), Timeout: int64(p.Timeout)}
}

// PrefetchFromProto is the inverse of PrefetchToProto.
func PrefetchFromProto(m *PrefetchRequest) (Prefetch, error) {
	f := &fields{}
	if len(m.GetObjects()) == 0 {
		f.missing("prefetch.objects")
	}
	if m.GetTimeout() <= 0 {
		f.bad("prefetch.timeout", "it is %v", time.Duration(m.GetTimeout()))
	}
	p := Prefetch{Objects: f.objects("prefetch.objects", m.GetObjects()), Timeout: time.Duration(m.GetTimeout())}
	return p, f.err
}

// PrefetchReplyToProto returns the answer to a Prefetch. Each error names the
// object that was not got.
func PrefetchReplyToProto(errs []*phalanx.Error) *PrefetchReply {
	m := &PrefetchReply{}
	for _, e := range errs {
		m.Errors = append(m.Errors, ErrorToProto(e))
	}
	return m
}

// PrefetchReplyFromProto is the inverse of PrefetchReplyToProto.
func PrefetchReplyFromProto(m *PrefetchReply) []*phalanx.Error {
	var errs []*phalanx.Error
	for _, e := range m.GetErrors() {
		errs = append(errs, errorFromProto(e))
	}
	return errs
}

package messages

import (
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	node "github.com/phalanx-go/phalanx/node/workflow"
)

// MarshalBundle returns the form of an output that names objects, as its object has it.
func MarshalBundle(output []byte, refs []node.Ref) ([]byte, error) {
	if len(refs) > node.MostRefs {
		return nil, unsendable("an output names %d objects, more than %d", len(refs), node.MostRefs)
	}
	m := &WorkflowBundle{Output: output, Refs: make([]*WorkflowRef, len(refs))}
	for i, r := range refs {
		m.Refs[i] = &WorkflowRef{Object: string(r.Object), Meta: fromMeta(r.Meta), Digest: fromDigest(r.Digest)}
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// UnmarshalBundle is the inverse of MarshalBundle. It copies what it returns.
func UnmarshalBundle(b []byte) (output []byte, refs []node.Ref, err error) {
	m := &WorkflowBundle{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, nil, broken("an output that names objects: %w", err)
	}
	if unknown(m) {
		return nil, nil, later("an output that names objects")
	}
	if len(m.Refs) > node.MostRefs {
		return nil, nil, broken("an output names %d objects, more than %d", len(m.Refs), node.MostRefs)
	}
	f := &fields{}
	refs = make([]node.Ref, len(m.Refs))
	for i, r := range m.Refs {
		if unknown(r) {
			return nil, nil, later("an object that an output names")
		}
		refs[i] = node.Ref{Object: f.object("bundle.object", r.GetObject()), Meta: f.meta("bundle.meta", r.GetMeta()), Digest: f.digest("bundle.digest", r.GetDigest())}
		if refs[i].Meta.Size == phalanx.UnknownSize {
			f.bad("bundle.meta", "the size of %s is not known", r.GetObject())
		}
	}
	return m.Output, refs, f.err
}

package remoting

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/phalanx-go/phalanx/internal/wire"
)

const (
	batchBytes = 1 << 20 // after which a batch is sent
	maxMessage = wire.MaxControl
	maxReceive = 16 << 20
	// window is how many bytes a peer may send before this node has taken them. It is fixed,
	// since gRPC would measure the link otherwise, by two more frames for each message.
	window = maxReceive
)

// encoder fills a batch: names and PIDs that repeat are sent once.
type encoder struct {
	batch            *remote.MessageBatch
	size             int
	types            map[string]int32
	targets, senders map[who]int32
}

type who struct {
	address, id string
	request     uint32
}

func newEncoder() *encoder {
	return &encoder{batch: &remote.MessageBatch{}, types: map[string]int32{}, targets: map[who]int32{}, senders: map[who]int32{}}
}

func (e *encoder) add(l letter) error {
	if n := proto.Size(l.message); n > maxMessage {
		return fmt.Errorf("a %s has %d bytes, at most %d can be sent", proto.MessageName(l.message), n, maxMessage)
	}
	data, err := proto.Marshal(l.message)
	if err != nil {
		return err
	}
	b, name := e.batch, string(proto.MessageName(l.message))
	kind, ok := e.types[name]
	if !ok {
		kind = int32(len(b.TypeNames))
		e.types[name], b.TypeNames = kind, append(b.TypeNames, name)
	}
	env := &remote.MessageEnvelope{TypeId: kind, MessageData: data}
	env.Target = index(e.targets, &b.Targets, l.target)
	if l.sender != nil {
		env.Sender = index(e.senders, &b.Senders, l.sender) + 1 // 0: none
	}
	if len(l.header) > 0 {
		env.MessageHeader = &remote.MessageHeader{HeaderData: l.header}
	}
	b.Envelopes = append(b.Envelopes, env)
	e.size += len(data) + 64
	return nil
}

func index(known map[who]int32, table *[]*actor.PID, pid *actor.PID) int32 {
	w := who{pid.GetAddress(), pid.GetId(), pid.GetRequestId()}
	i, ok := known[w]
	if !ok {
		i = int32(len(*table))
		known[w] = i
		*table = append(*table, &actor.PID{Address: w.address, Id: w.id, RequestId: w.request})
	}
	return i
}

// decode returns the letter that e, of b, carries. The letter is new.
func decode(b *remote.MessageBatch, e *remote.MessageEnvelope) (letter, error) {
	var l letter
	var err error
	if l.target, err = at(b.GetTargets(), int(e.GetTarget())); err != nil {
		return l, fmt.Errorf("target %w", err)
	}
	if e.GetSender() != 0 {
		if l.sender, err = at(b.GetSenders(), int(e.GetSender())-1); err != nil {
			return l, fmt.Errorf("sender %w", err)
		}
	}
	if i := int(e.GetTypeId()); i < 0 || i >= len(b.GetTypeNames()) {
		return l, fmt.Errorf("type %d of %d", i, len(b.GetTypeNames()))
	}
	if e.GetSerializerId() != 0 {
		return l, fmt.Errorf("there is no serializer %d", e.GetSerializerId())
	}
	name := b.GetTypeNames()[e.GetTypeId()]
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return l, fmt.Errorf("%q for actor %s is no known message", name, l.target.GetId())
	}
	l.message = kind.New().Interface()
	if err := proto.Unmarshal(e.GetMessageData(), l.message); err != nil {
		return l, fmt.Errorf("%s for actor %s: %w", name, l.target.GetId(), err)
	}
	l.header = e.GetMessageHeader().GetHeaderData()
	return l, nil
}

// at copies a PID, since it remembers its process.
func at(table []*actor.PID, i int) (*actor.PID, error) {
	if i < 0 || i >= len(table) {
		return nil, fmt.Errorf("%d of %d", i, len(table))
	}
	pid := table[i]
	return &actor.PID{Address: pid.GetAddress(), Id: pid.GetId(), RequestId: pid.GetRequestId()}, nil
}

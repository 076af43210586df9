package ledger

// Event is everything that can happen to a Core.
type Event interface{ event() }

type (
	// Tick says that the time of Due has come.
	Tick struct{}

	// Receive brings the bytes of a Send of the replica From, or any other bytes.
	Receive struct {
		From uint64
		Data []byte // the core's to keep
	}

	// Written says that the disk has carried out the Write of this number. If the Write asks
	// for a sync, it is on the disk.
	Written struct{ Number uint64 }

	// WriteFailed says that a write or a sync failed. What the disk holds is not known any
	// more, so this disk never acknowledges anything again, and is to be replaced.
	WriteFailed struct{}

	// Append asks to commit Rows, all or none. Number counts the appends of the tenure Epoch
	// from 1 on, without gaps; the number of an append that was Refused as Busy, TooLarge,
	// Invalid or OutOfOrder is used again. Each Append is answered by one Done or Refused.
	Append struct {
		Epoch  uint64
		Number uint64
		Rows   []Row // the core's to keep
	}

	// Read asks when the disk has all that was committed before the Read. Readable or
	// NotReadable answer it. ID is the host's.
	Read struct{ ID uint64 }

	// Wake says that the replica's host needs a group that is awake: its leader is heard soon, or another one
	// is elected.
	Wake struct{}

	// Left says that the node of a replica has left the view.
	Left struct{ Replica uint64 }

	// Want names the replicas that are to vote. The leader changes one after the other.
	// The core keeps the last Want for when it leads, unless the replicas have changed since in another way. Of, if another
	// node wants that, are the voters of which it knew: a core that knows others ignores the Want, which is old.
	Want struct{ Voters, Of []uint64 }

	// HandOver asks a leader to transfer its leadership, since its node is about to go: to one of these replicas, whose nodes
	// stay. Without any it asks for nothing.
	HandOver struct{ To []uint64 }

	// GiveUp asks to end the tenure Epoch, since its controller cannot go on: another one follows, on another
	// replica if there is one.
	GiveUp struct{ Epoch uint64 }

	// SnapshotSent says that all rows of a SendSnapshot have arrived at To.
	SnapshotSent struct{ To uint64 }

	// SnapshotFailed says that they will not arrive.
	SnapshotFailed struct{ To uint64 }

	// SnapshotArrived brings the message of a SendSnapshot of From, after its rows. The host
	// keeps the rows as Stream until a Write installs them or DropStream names them.
	SnapshotArrived struct {
		From   uint64
		Data   []byte
		Stream uint64
	}
)

func (Tick) event()            {}
func (Receive) event()         {}
func (Written) event()         {}
func (WriteFailed) event()     {}
func (Append) event()          {}
func (Read) event()            {}
func (Wake) event()            {}
func (Left) event()            {}
func (Want) event()            {}
func (HandOver) event()        {}
func (GiveUp) event()          {}
func (SnapshotSent) event()    {}
func (SnapshotFailed) event()  {}
func (SnapshotArrived) event() {}

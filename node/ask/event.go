package ask

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Event is an input of Requests.
type Event interface{ event() }

// The events. By names the caller: effects bring it back, and it means nothing here.
type (
	// Ask begins a request. A directory.Watch goes on until Forget and is answered by
	// Ready, any other by one or more Answer. With By nil no caller hears of it.
	Ask struct {
		Num    uint64 // a number of Config.Nums
		Object phalanx.ObjectID
		Shard  int // if the request is about no object
		Body   directory.Body
		By     any
	}
	// Forget ends a request. The owner hears of the end of a watch.
	Forget struct{ Num uint64 }
	// Impatient wants a Silent for By whenever the owner has not answered request Num for
	// some seconds. The request goes on until it is forgotten.
	Impatient struct {
		Num uint64
		By  any
	}
	// Replied brings an owner's answer.
	Replied struct {
		From  phalanx.NodeID
		Reply directory.Reply
	}
	// Told brings an owner's readiness for a watch.
	Told struct {
		From      phalanx.NodeID
		Readiness directory.Readiness
	}
	// Learn brings a new view.
	Learn struct{ View view.View }
	// Unsendable says that request Num can never be sent to a node, and why.
	Unsendable struct {
		Num  uint64
		To   phalanx.NodeID
		Kind phalanx.Kind
		Why  error
	}
	// Tick is due when Due says so.
	Tick struct{}
)

func (Ask) event()        {}
func (Forget) event()     {}
func (Impatient) event()  {}
func (Replied) event()    {}
func (Told) event()       {}
func (Learn) event()      {}
func (Unsendable) event() {}
func (Tick) event()       {}

// Effect is an order to the host of Requests.
type Effect interface{ effect() }

// The effects.
type (
	// Send brings What to a node's replica of a shard. If What is a Request that can
	// never be sent, the host says so with Unsendable.
	Send struct {
		To    phalanx.NodeID
		Shard int
		What  directory.Event
	}
	// Answer hands an answer to the caller: each Waiting, and the last one.
	Answer struct {
		By     any
		From   phalanx.NodeID
		Result directory.Result
	}
	// Ready hands the readiness of a watched object to the watcher: each version once.
	Ready struct {
		By        any
		Readiness directory.Readiness
	}
	// Silent tells the impatient caller that the owner says nothing, or that its watch can
	// never be sent.
	Silent struct {
		By  any
		Err *phalanx.Error
	}
)

func (Send) effect()   {}
func (Answer) effect() {}
func (Ready) effect()  {}
func (Silent) effect() {}

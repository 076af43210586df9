package actors

import (
	"fmt"
	"reflect"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
)

// Unknown ends the request that is c's present message, of a type that the actor does not take:
// it answers with ErrInvalid, which fails a Node.Request at once. The actor's name is for people.
// A message without a sender is dropped.
func Unknown(c actor.Context, name string) {
	if c.Sender() == nil {
		return
	}
	c.Respond(&phalanx.Error{Op: "request", Kind: phalanx.ErrInvalid, Err: unknown(c.Message(), name)})
}

func unknown(message any, name string) error {
	if t := reflect.TypeOf(message); t != nil && t.Kind() == reflect.Struct {
		return fmt.Errorf("the %s takes no %T: if that is one of its messages, send a pointer to it", name, message)
	}
	return fmt.Errorf("the %s takes no %T", name, message)
}

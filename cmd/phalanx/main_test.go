package main

import (
	"errors"

	"github.com/phalanx-go/phalanx"
)

func nodeID(s string) phalanx.NodeID     { return phalanx.NodeID(s) }
func objectID(s string) phalanx.ObjectID { return phalanx.ObjectID(s) }

func failure(k phalanx.Kind) error {
	return &phalanx.Error{Op: "stat", Object: "a", Node: "n2#2", Kind: k, Err: errors.New("because")}
}

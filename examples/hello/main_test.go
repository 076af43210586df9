package main

import (
	"testing"

	"go.uber.org/goleak"
)

func TestHello(t *testing.T) {
	defer goleak.VerifyNone(t)
	if text, err := hello(t.Context()); text != "hello" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

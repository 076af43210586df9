package main

import (
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func TestStatusOfOneMember(t *testing.T) {
	var out strings.Builder
	report(&out, httpapi.Status{Members: make([]httpapi.Member, 1)})
	must(t, out.String(), ", 1 member:\n")
}

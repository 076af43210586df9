package cluster

import (
	"strings"
	"testing"
)

// Services that others need stand before these.
func TestServicesWithOthers(t *testing.T) {
	service := func(name string, with ...Service) Service { return Service{Name: name, With: with} }
	var names []string
	for _, s := range withNeeded([]Service{service("a"), service("b", service("c", service("d")), service("e")), service("f")}) {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "a d c e b f" {
		t.Errorf("the order is %s", got)
	}
}

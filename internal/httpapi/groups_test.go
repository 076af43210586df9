package httpapi_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func TestBarriersAndGroups(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	ctx := t.Context()
	b.node.Bars = []barrier.Status{{Name: "a/1"}, {Name: "b"}}
	bars, err := b.client.Barriers(ctx, "a/", time.Second)
	if err != nil || len(bars.Barriers) != 1 || bars.Barriers[0].Name != "a/1" {
		t.Errorf("barriers: %+v, %v", bars, err)
	}
	b.node.Grps = []group.Status{{Name: "a/1", Members: []group.MemberStatus{{Node: "n1#1", State: group.Left}}, Revoked: &group.RevokeStatus{At: time.Unix(1, 2).UTC()}}, {Name: "b"}}
	groups, err := b.client.Groups(ctx, "a/", time.Second)
	if err != nil || !reflect.DeepEqual(groups.Groups, b.node.Grps[:1]) {
		t.Errorf("groups: %+v, %v", groups, err)
	}
	b.node.Fail = &phalanx.Error{Op: "group list", Node: "n2#2", Kind: phalanx.ErrUnavailable}
	if groups, err := b.client.Groups(ctx, "", 0); err != nil || len(groups.Groups) != 2 || !strings.Contains(groups.Error, "n2#2") {
		t.Errorf("groups without those of a member: %+v, %v", groups, err)
	}
	b.node.Grps = nil
	if _, err := b.client.Groups(ctx, "", 0); !errors.Is(err, phalanx.ErrUnavailable) {
		t.Errorf("no groups: %v", err)
	}
}

package workflow

import "testing"

func TestParseUID(t *testing.T) {
	for _, u := range []UID{{1, 2, 3}, {1 << 63, 1 << 40, 1 << 33}} {
		if got, ok := ParseUID(u.String()); !ok || got != u {
			t.Errorf("%s is %v, %v", u, got, ok)
		}
	}
	for _, s := range []string{"", "x", "1.2.3", UID{1, 2, 3}.String() + "0", UID{1, 2, 3}.String() + "/", "-" + UID{1, 2, 3}.String()[1:]} {
		if u, ok := ParseUID(s); ok {
			t.Errorf("%q is %v", s, u)
		}
	}
}

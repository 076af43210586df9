package workflow

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Codec is the form of rows in the ledger, which package messages knows.
type Codec interface {
	// Encode returns the form of what a row says. A Started is without its Work.
	Encode(v core.RowValue) ([]byte, error)
	// Decode is the inverse of Encode. A Batch is that of a run with so many tasks.
	Decode(b []byte, tasks int) (core.RowValue, error)
	// Work makes a workflow of its parts.
	Work(parts [][]byte) (*core.Work, error)
}

// Range asks for the rows of [Key, End), or of Key if End is empty: at most Limit, if that is not zero.
type Range struct {
	Key, End string
	Limit    int
}

// rangesOf returns what has to be read of a run to go on with it: neither its outputs nor its result.
func rangesOf(uid string) []Range {
	run := "run/" + uid + "/"
	return []Range{{Key: run + "blob/", End: run + "blob0"}, {Key: run + "log/", End: run + "log0"}, {Key: run + "part/", End: run + "part0"},
		{Key: run + "start"}}
}

// rangesFor returns what has to be read for a Read of the controller.
func rangesFor(r core.Read) []Range {
	rest, isRun := strings.CutPrefix(r.Key, "run/")
	uid, what, _ := strings.Cut(rest, "/")
	switch {
	case isRun && what == "" && r.End != "":
		return rangesOf(uid)
	case isRun && what == "start":
		run := "run/" + uid + "/"
		return []Range{{Key: run + "part/", End: run + "part0"}, {Key: run + "start"}}
	}
	return []Range{{Key: r.Key, End: r.End, Limit: r.Limit}}
}

// decodeRun decodes rows of one run, in the order of their keys. Without the row start nothing is decoded.
func decodeRun(codec Codec, rows []ledger.Row) ([]core.Row, error) {
	var parts [][]byte
	var started core.Started
	found := false
	for _, r := range rows {
		_, what, _ := strings.Cut(strings.TrimPrefix(r.Key, "run/"), "/")
		isPart := strings.HasPrefix(what, "part/")
		if !isPart && what != "start" {
			continue
		}
		v, err := codec.Decode(r.Value, 0)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", r.Key, err)
		}
		switch v := v.(type) {
		case core.Part:
			parts = append(parts, v.Bytes)
		case core.Started:
			started, found = v, true
		default:
			return nil, fmt.Errorf("row %s is a %T", r.Key, v)
		}
	}
	if !found {
		return nil, nil
	}
	work, err := codec.Work(parts)
	if err != nil {
		return nil, fmt.Errorf("the workflow of run %s: %w", started.Run, err)
	}
	started.Work = work
	var all []core.Row
	for _, r := range rows {
		_, what, _ := strings.Cut(strings.TrimPrefix(r.Key, "run/"), "/")
		switch {
		case what == "start":
			all = append(all, core.Row{Key: r.Key, Value: started})
			continue
		case strings.HasPrefix(what, "part/"):
			continue
		}
		v, err := codec.Decode(r.Value, core.MaxTasks)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", r.Key, err)
		}
		all = append(all, core.Row{Key: r.Key, Value: v})
	}
	return all, nil
}

// encode returns rows in the ledger's form.
func encode(codec Codec, rows []core.Row) ([]ledger.Row, error) {
	all := make([]ledger.Row, len(rows))
	for i, r := range rows {
		all[i] = ledger.Row{Key: r.Key, End: r.End}
		if r.Value == nil {
			continue
		}
		b, err := codec.Encode(r.Value)
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", r.Key, err)
		}
		all[i].Value = b
	}
	return all, nil
}

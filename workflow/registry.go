package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
)

// Registry has the tasks that a node can run. It is safe for concurrent use.
type Registry struct {
	tasks map[string]*Task // by "name@version"

	mu   sync.Mutex
	told map[*Task]bool // that it was logged what the task promises
}

// Tasks returns a registry of tasks. It panics if two have the same name and version, or if one is only named.
func Tasks(all ...AnyTask) *Registry {
	r := &Registry{tasks: map[string]*Task{}, told: map[*Task]bool{}}
	for _, a := range all {
		t := a.task()
		if t.named {
			panic(fmt.Sprintf("workflow: %s has a name only: register the task that has its function", t.Name()))
		}
		if r.tasks[t.Name()] != nil {
			panic(fmt.Sprintf("workflow: two tasks are called %s: give one another name, or a higher version", t.Name()))
		}
		r.tasks[t.Name()] = t
	}
	return r
}

// Names returns the names of the tasks with their versions, sorted.
func (r *Registry) Names() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.tasks))
}

// find returns the task of a name and version.
func (r *Registry) find(name string, version int) (*Task, error) {
	full := fmt.Sprintf("%s@%d", name, version)
	if r != nil && r.tasks[full] != nil {
		return r.tasks[full], nil
	}
	others := "no other version of it is"
	var versions []string
	for _, have := range r.Names() {
		if strings.HasPrefix(have, name+"@") {
			versions = append(versions, have)
		}
	}
	if versions != nil {
		others = strings.Join(versions, ", ") + " is"
	}
	return nil, &phalanx.Error{Op: "run " + full, Kind: phalanx.ErrNotFound,
		Err: fmt.Errorf("%w; %s: add it to Tasks, or resume the run with another version", ErrNotRegistered, others)}
}

// tell logs, once, that a task without annotations promises to be idempotent.
func (r *Registry) tell(log logrus.FieldLogger, t *Task) {
	if (t.promise != promise{}) || t.undo != nil || t.expands {
		return
	}
	r.mu.Lock()
	told := r.told[t]
	r.told[t] = true
	r.mu.Unlock()
	if !told {
		log.WithField("task", t.Name()).Info("this task has no annotations, so it promises that a repeat under the same key has no second effect; say Idempotent if so, NoEffect if it has none, or give it an Undo")
	}
}

package training

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// run names the objects and the actors of one training; it begins all of them.
type run string

// plan is the object with the plan of the training.
func (r run) plan() phalanx.ObjectID { return phalanx.ObjectID(r + "/plan") }

func (r run) weights(round int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/weights/%d", r, round))
}

func (r run) gradient(round, part int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/gradient/%d/%d", r, round, part))
}

func (r run) sum(round int) phalanx.ObjectID {
	return phalanx.ObjectID(fmt.Sprintf("%s/sum/%d", r, round))
}

func (r run) trainer() string { return string(r) + "/trainer" }

func (r run) worker(part int) string { return fmt.Sprintf("%s/worker/%d", r, part) }

// parseWorker is the inverse of worker.
func parseWorker(name string) (r run, part int, err error) {
	const mark = "/worker/"
	i := strings.LastIndex(name, mark)
	if i >= 0 {
		part, err = strconv.Atoi(name[i+len(mark):])
	}
	if i < 0 || err != nil {
		return "", 0, fmt.Errorf("%q is not the name of a worker", name)
	}
	return run(name[:i]), part, nil
}

// partOf returns the part of the samples from which the gradient called id was made.
func partOf(id phalanx.ObjectID) int {
	part, _ := strconv.Atoi(string(id[strings.LastIndexByte(string(id), '/')+1:]))
	return part
}

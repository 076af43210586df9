// Package hashdag is a workflow of tasks at random: each hashes what the tasks before it have made, and has an effect
// outside of the cluster, a file. A plain computation makes the same hashes, so that a run can be checked.
package hashdag

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"github.com/phalanx-go/phalanx/workflow"
)

// most is how many earlier tasks a task reads at most.
const most = 3

// Edges returns which earlier tasks each task reads. Nobody reads only the last one.
func Edges(tasks int, seed uint64) [][]int {
	r := rand.New(rand.NewPCG(seed, 0))
	all := make([][]int, tasks)
	read := make([]bool, tasks)
	for v := range all {
		for range r.IntN(most + 1) {
			if v > 0 {
				u := r.IntN(v)
				all[v], read[u] = append(all[v], u), true
			}
		}
	}
	for u := range tasks - 1 {
		if !read[u] {
			all[tasks-1] = append(all[tasks-1], u)
		}
	}
	return all
}

// hash is what a task makes of its number and its inputs.
func hash(number int, inputs []string) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, int64(number)) // a hash takes all
	for _, in := range inputs {
		h.Write([]byte(in))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Plain returns what each task makes, computed without a workflow.
func Plain(reads [][]int) []string {
	made := make([]string, len(reads))
	for v, us := range reads {
		var inputs []string
		for _, u := range us {
			inputs = append(inputs, made[u])
		}
		made[v] = hash(v, inputs)
	}
	return made
}

// Name is that of the task.
const Name = "mix"

// Workflow is the same as a workflow, of a version of the task.
func Workflow(reads [][]int, version int) workflow.Step[Made] {
	mix := workflow.Named2[int, []Made, Made](Name, version)
	steps := make([]workflow.Step[Made], len(reads))
	for v, us := range reads {
		inputs := make([]workflow.Arg[Made], len(us))
		for i, u := range us {
			inputs[i] = steps[u]
		}
		steps[v] = mix.Bind(workflow.Value(v), workflow.All(inputs...))
	}
	return steps[len(steps)-1]
}

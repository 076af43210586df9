package hashdag

import (
	"bytes"
	"fmt"

	"github.com/phalanx-go/phalanx/workflow"
)

// Made is the output of a task: a hash, and of some tasks an object that they have put, or that they pass on.
type Made struct {
	Sum  string
	Data workflow.Ref
}

// dataBytes is the size of the objects.
const dataBytes = 32 << 10

// data returns the bytes of the object of a task: its hash, over and over.
func data(sum string) []byte { return bytes.Repeat([]byte(sum), dataBytes/len(sum)) }

// read returns the hashes of inputs. It reads their objects, which must have the bytes of a task's.
func read(c workflow.Context, inputs []Made) ([]string, error) {
	sums := make([]string, len(inputs))
	for i, in := range inputs {
		sums[i] = in.Sum
		if in.Data.IsZero() {
			continue
		}
		b, err := workflow.GetBytes(c, in.Data)
		if err != nil {
			return nil, err
		}
		if sum := b[:min(len(b), len(in.Sum))]; !bytes.Equal(b, data(string(sum))) {
			return nil, workflow.Permanent(fmt.Errorf("the object %s has other bytes than its task has put", in.Data.ID()))
		}
	}
	return sums, nil
}

// made returns the output of a task: of four tasks one puts an object, and one passes on that of an input.
func made(c workflow.Context, number int, sum string, inputs []Made) (m Made, err error) {
	m.Sum = sum
	switch number % 4 {
	case 1:
		m.Data, err = c.Put("data", data(sum))
	case 2:
		for _, in := range inputs {
			if m.Data.IsZero() {
				m.Data = in.Data
			}
		}
	}
	return m, err
}

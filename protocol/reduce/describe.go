package reduce

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
)

// describe says what an array is, for errors.
func describe(m phalanx.Meta) string {
	if m.Shape == nil {
		return fmt.Sprintf("%d bytes of %v", m.Size, m.DType)
	}
	return fmt.Sprintf("%d bytes of %v in shape %v", m.Size, m.DType, m.Shape)
}

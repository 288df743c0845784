package host

import (
	"fmt"
	"io"

	"pinion/gpu/inside"
)

// Inside prints what the container that this process runs in sees of GPUs, as text or as JSON.
func Inside(out io.Writer, asJSON bool) error {
	sight, err := inside.Probe()
	if err != nil {
		return fmt.Errorf("looking for GPUs in this container: %w", err)
	}
	if asJSON {
		return sight.PrintJSON(out)
	}
	return sight.Print(out)
}

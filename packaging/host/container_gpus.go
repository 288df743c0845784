package host

import (
	"fmt"
	"io"

	"pinion/gpu/visible"
)

// ContainerGPUs prints the GPUs that the container of this process sees, as text or as JSON.
func ContainerGPUs(out io.Writer, asJSON bool) error {
	view, err := visible.Probe()
	if err != nil {
		return fmt.Errorf("looking for GPUs in this container: %w", err)
	}
	if asJSON {
		return view.PrintJSON(out)
	}
	return view.Print(out)
}

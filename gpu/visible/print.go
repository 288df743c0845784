package visible

import (
	"encoding/json"
	"fmt"
	"io"
)

// Print writes the report for people, one fact a line: "device /dev/nvidia3", "NVIDIA_VISIBLE_DEVICES=...", and the lines
// of nvidia-smi. The error follows the path of a device that cannot be opened.
func (s Report) Print(out io.Writer) error {
	var lines []string
	for _, node := range s.Devices {
		lines = append(lines, "device "+node.Path+node.Access.remark())
	}
	if len(s.Devices) == 0 {
		lines = append(lines, "no GPU device in this container")
	}
	lines = append(lines, s.Env...)
	switch {
	case s.Tool == nil:
		lines = append(lines, "no nvidia-smi in this container")
	case s.Tool.Error != "":
		lines = append(lines, "nvidia-smi failed: "+s.Tool.Error)
	default:
		lines = append(lines, s.Tool.Lines...)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// PrintJSON writes the report for programs.
func (s Report) PrintJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

func (a Access) remark() string {
	switch a {
	case Opens:
		return ""
	case NoDriver:
		return "  (no driver behind it, as with simulated GPUs)"
	case Refused:
		return "  (refused by the devices cgroup)"
	case Denied:
		return "  (refused by its file mode)"
	}
	return "  (" + string(a) + ")"
}

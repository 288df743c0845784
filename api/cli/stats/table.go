package stats

import (
	"cmp"
	"strconv"

	"pinion/api/cli/format"
	"pinion/api/cli/table"
)

func tableOf(all []containerUse) (*table.Table, error) {
	t := &table.Table{
		Header:   []string{"TASK ID", "CONTAINER", "FAMILY", "HOST", "CPU", "MEMORY", "NET", "BLOCK", "PIDS", "GPU", "GPU MEMORY"},
		Optional: []string{"FAMILY", "PIDS", "BLOCK"}, Empty: "no container of a task runs",
	}
	for i := range all {
		u := &all[i]
		memory := size(u.Memory)
		if u.MemoryLimit != nil {
			memory += " / " + size(u.MemoryLimit)
		}
		t.Add(format.ID(u.Task), u.Container, cmp.Or(u.Family, "-"), u.Host, number(u.CPUPercent, "%"), memory, pair(u.Received, u.Sent), pair(u.Read, u.Written), number(u.Processes, ""),
			number(u.GPUPercent, "%"), size(u.GPUMemory))
	}
	return t, nil
}

func number(v *float64, unit string) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 0, 64) + unit
}

func size(v *float64) string {
	if v == nil {
		return "-"
	}
	return format.Bytes(int64(*v))
}

// pair is "1.2 MB / 3.4 kB".
func pair(in, out *float64) string {
	if in == nil && out == nil {
		return "-"
	}
	return size(in) + " / " + size(out)
}

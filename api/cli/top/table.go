package top

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// gpuTable makes the table of GPUs; one that tasks share has a row for each.
func gpuTable(inv *invocation.Invocation) func([]gpuUsage) (*table.Table, error) {
	return func(gpus []gpuUsage) (*table.Table, error) {
		t := &table.Table{Header: []string{"GPU", "MODEL", "UTIL", "RECENT", "MEMORY", "POWER", "TEMP", "TASK ID", "TASK", "TEAM"},
			Optional: []string{"MODEL", "TEMP", "RECENT", "TEAM"}, Empty: "no host has GPUs, or none with these properties", Footer: summary(gpus)}
		wide := inv.Output == invocation.Wide
		if wide {
			t.Header = append(t.Header, "SM", "CLOCK", "PCIE", "NVLINK", "UUID")
		}
		plain := make([]client.GPU, len(gpus))
		for i := range gpus {
			plain[i] = gpus[i].GPU
		}
		names := invocation.GPUHosts(plain)
		for i := range gpus {
			g := &gpus[i]
			u := cmp.Or(g.Usage, &client.GPUUsage{})
			for _, holder := range g.Holders() {
				id := format.ID(holder.Task)
				if wide {
					id = holder.Task
				}
				row := []string{names[g.HostID] + "/" + g.Number(), format.GPUModel(g.Model, g.Profile(), g.Simulated), number(u.Utilization, "%"), sparkline(u.Recent),
					memory(u.MemoryUsedMiB, g.MemoryMiB), number(u.PowerWatts, " W"), number(u.Celsius, " °C"), cmp.Or(id, "-"), cmp.Or(holder.Definition, "-"), cmp.Or(holder.Team, "-")}
				if wide {
					row = append(row, number(u.SMActivity, "%"), strings.TrimSpace(number(u.ClockMHz, " MHz")+" "+u.Slowdown), traffic(u.PCIeReceived, u.PCIeSent), traffic(u.NVLinkReceived, u.NVLinkSent), g.UUID)
				}
				t.Add(row...)
			}
		}
		return t, nil
	}
}

// summary is "16 GPUs: 9 held, 41% busy, 3 of them unused for a minute; 3.2 kW".
func summary(gpus []gpuUsage) string {
	var held, unused, known int
	var busy, watts float64
	for i := range gpus {
		g := &gpus[i]
		if g.Usage != nil && g.Usage.PowerWatts != nil {
			watts += *g.Usage.PowerWatts
		}
		if !g.held() {
			continue
		}
		held++
		if g.unused() {
			unused++
		}
		if g.Usage != nil && g.Usage.Utilization != nil {
			busy, known = busy+*g.Usage.Utilization, known+1
		}
	}
	text := fmt.Sprintf("%s: %d held by tasks", format.Plural(len(gpus), "GPU"), held)
	if known > 0 {
		text += fmt.Sprintf(", %.0f%% busy on average", busy/float64(known))
	}
	if unused > 0 {
		text += fmt.Sprintf(", %d unused for a minute", unused)
	}
	if watts > 0 {
		text += fmt.Sprintf("; %.1f kW", watts/1000)
	}
	return text
}

func number(v *float64, unit string) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 0, 64) + unit
}

// memory is "35.2/79.6 GiB", with "-" for what is not known.
func memory(used *float64, totalMiB int64) string {
	if totalMiB == 0 {
		return "-"
	}
	total := format.MiB(totalMiB)
	if used == nil {
		return "-/" + total
	}
	if totalMiB < 1024 {
		return fmt.Sprintf("%.0f/%s", *used, total)
	}
	return fmt.Sprintf("%.1f/%s", *used/1024, total)
}

// traffic is what is received and sent, in GB a second.
func traffic(received, sent *float64) string {
	if received == nil && sent == nil {
		return "-"
	}
	gigabytes := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v/1000, 'f', 1, 64)
	}
	return gigabytes(received) + "/" + gigabytes(sent) + " GB/s"
}

// bars are those of sparkline from 0 to 100 percent.
var bars = []rune("▁▂▃▄▅▆▇█")

// sparkline draws percentages.
func sparkline(percent []float64) string {
	var line strings.Builder
	for _, v := range percent {
		line.WriteRune(bars[min(max(int(v/100*float64(len(bars))), 0), len(bars)-1)])
	}
	return cmp.Or(line.String(), "-")
}

// taskUsage is how the GPUs of a task are used. Of GPUs that it shares, that is the use of all who share them.
type taskUsage struct {
	Task          string   `json:"task"`
	Definition    string   `json:"definition"`
	Team          string   `json:"team"`
	GPUs          []string `json:"gpus"`   // HOST/IDX
	Shared        bool     `json:"shared"` // others have shares of them
	Utilization   *float64 `json:"utilization"`
	MemoryUsedMiB *float64 `json:"memoryUsedMiB"` // of all of them
	MemoryMiB     int64    `json:"memoryMiB"`     // that they have
	PowerWatts    *float64 `json:"powerWatts"`    // of all of them
}

// byTask sums up by task, the one with the least utilization first. What is not known of one of its GPUs is not known of the task.
func byTask(gpus []gpuUsage) []taskUsage {
	tasks, measured := map[string]*taskUsage{}, map[string][]*client.GPUUsage{}
	var order []string
	for i := range gpus {
		g := &gpus[i]
		for _, holder := range g.Holders() {
			if holder.Task == "" {
				continue
			}
			task := tasks[holder.Task]
			if task == nil {
				task = &taskUsage{Task: holder.Task, Definition: holder.Definition, Team: holder.Team}
				tasks[holder.Task], order = task, append(order, holder.Task)
			}
			name := g.Host + "/" + strconv.Itoa(g.Index)
			task.Shared = task.Shared || len(g.Shares) > 1
			if slices.Contains(task.GPUs, name) {
				continue // two of its containers share it
			}
			task.GPUs, task.MemoryMiB = append(task.GPUs, name), task.MemoryMiB+g.MemoryMiB
			measured[holder.Task] = append(measured[holder.Task], cmp.Or(g.Usage, &client.GPUUsage{}))
		}
	}
	all := make([]taskUsage, 0, len(order))
	for _, id := range order {
		task, usages := tasks[id], measured[id]
		if task.Utilization = sum(usages, func(u *client.GPUUsage) *float64 { return u.Utilization }); task.Utilization != nil {
			*task.Utilization /= float64(len(usages))
		}
		task.MemoryUsedMiB = sum(usages, func(u *client.GPUUsage) *float64 { return u.MemoryUsedMiB })
		task.PowerWatts = sum(usages, func(u *client.GPUUsage) *float64 { return u.PowerWatts })
		all = append(all, *task)
	}
	slices.SortStableFunc(all, func(a, b taskUsage) int {
		unknown := 101.0
		return cmp.Compare(*cmp.Or(a.Utilization, &unknown), *cmp.Or(b.Utilization, &unknown))
	})
	return all
}

// sum is nil when one of the summands is.
func sum(usages []*client.GPUUsage, member func(*client.GPUUsage) *float64) *float64 {
	total := 0.0
	for _, u := range usages {
		v := member(u)
		if v == nil {
			return nil
		}
		total += *v
	}
	return &total
}

func taskTable(tasks []taskUsage) (*table.Table, error) {
	t := &table.Table{Header: []string{"TASK ID", "TASK", "TEAM", "UTIL", "MEMORY", "POWER", "GPUS"}, Optional: []string{"TEAM"}, Empty: "no task has a GPU"}
	for i := range tasks {
		task := &tasks[i]
		gpus := strings.Join(task.GPUs, ", ")
		if task.Shared {
			gpus += " (shared)"
		}
		t.Add(format.ID(task.Task), cmp.Or(task.Definition, "-"), cmp.Or(task.Team, "-"), number(task.Utilization, "%"), memory(task.MemoryUsedMiB, task.MemoryMiB), number(task.PowerWatts, " W"), gpus)
	}
	return t, nil
}

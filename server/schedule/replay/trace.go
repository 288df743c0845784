package replay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"pinion/server/schedule/pack"
)

// Host is a line of a host list.
type Host struct {
	Name      string
	CPU       int64 // thousandths of a core
	MemoryMiB int64
	GPUs      int
	Model     string
}

// Task is a line of a task list.
type Task struct {
	Name string
	pack.Shape
}

// ReadHosts reads a host list: CSV with the columns sn, cpu_milli, memory_mib, gpu and model, named in its first line;
// others are ignored. Errors name the line.
func ReadHosts(from io.Reader) ([]Host, error) {
	var hosts []Host
	err := eachLine(from, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, func(l *line) {
		hosts = append(hosts, Host{
			Name: l.text("sn"), CPU: l.number("cpu_milli", 0, mostCPU), MemoryMiB: l.number("memory_mib", 0, mostMemory),
			GPUs: int(l.number("gpu", 0, pack.MostGPUs)), Model: l.text("model"),
		})
	})
	return hosts, err
}

// ReadTasks reads a task list: CSV with the columns name, cpu_milli, memory_mib, num_gpu and gpu_milli, and maybe
// gpu_spec, named in its first line; others are ignored. Errors name the line.
func ReadTasks(from io.Reader) ([]Task, error) {
	var tasks []Task
	err := eachLine(from, []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, func(l *line) {
		task := Task{Name: l.text("name"), Shape: pack.Shape{
			CPU: l.number("cpu_milli", 0, mostCPU), MemoryMiB: l.number("memory_mib", 0, mostMemory),
			GPUs: int(l.number("num_gpu", 0, pack.MostGPUs)), Milli: int(l.number("gpu_milli", 0, pack.Whole)),
		}}
		if l.has("gpu_spec") {
			task.Models = l.text("gpu_spec")
		}
		switch {
		case (task.GPUs == 0) != (task.Milli == 0):
			l.setError("num_gpu is %d and gpu_milli %d: either both are 0 or none", task.GPUs, task.Milli)
		case task.GPUs > 1 && task.Milli < pack.Whole:
			l.setError("gpu_milli is %d: more than one GPU can be had only whole (%d)", task.Milli, pack.Whole)
		}
		tasks = append(tasks, task)
	})
	return tasks, err
}

// What a line can ask for, so that no sum overflows.
const (
	mostCPU    = 1 << 40
	mostMemory = 1 << 40
)

// line is a line of a list; the first thing that is wrong with it stays.
type line struct {
	at      int
	columns map[string]int
	fields  []string
	err     error
}

func (l *line) has(column string) bool { _, has := l.columns[column]; return has }

func (l *line) text(column string) string { return l.fields[l.columns[column]] }

func (l *line) number(column string, least, most int64) int64 {
	n, err := strconv.ParseInt(l.text(column), 10, 64)
	if err != nil || n < least || n > most {
		l.setError("%s is %q: it has to be a whole number from %d to %d", column, l.text(column), least, most)
	}
	return n
}

func (l *line) setError(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("line %d: "+format, append([]any{l.at}, args...)...)
	}
}

// eachLine reads CSV whose first line names the columns, of which the needed ones have to be there.
func eachLine(from io.Reader, needed []string, read func(*line)) error {
	in := csv.NewReader(from)
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: its first line has to name the columns")
	}
	if err != nil {
		return err
	}
	columns := map[string]int{}
	for i, name := range header {
		columns[name] = i
	}
	for _, name := range needed {
		if !slices.Contains(header, name) {
			return fmt.Errorf("line 1: there is no column %s; it needs %v", name, needed)
		}
	}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at, _ := in.FieldPos(0)
		l := &line{at: at, columns: columns, fields: fields}
		if read(l); l.err != nil {
			return l.err
		}
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
)

// SimConfig is the options of `pinion sim`.
type SimConfig struct {
	Hosts, Tasks string   // files, CSV
	Policies     []string // each with every seed
	From, To     int64    // seeds, both included
	Inflate      float64  // until so much of all GPUs was asked for; 1.3 is 130 %
}

// SimRun is the share of all GPUs that a policy has allocated, in per cent, when a share of so many per cent was requested.
type SimRun struct {
	Trace          string  `json:"trace"`
	Policy         string  `json:"policy"`
	Seed           int64   `json:"seed"`
	Allocated90    float64 `json:"allocated_at_90"`
	Allocated95    float64 `json:"allocated_at_95"`
	Allocated100   float64 `json:"allocated_at_100"`
	Allocated130   float64 `json:"allocated_at_130"`
	Unallocated130 float64 `json:"unallocated_at_130"`
}

// minInflate is the requested share of the last column of the table.
const minInflate = 1.3

func simCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "sim",
		Usage: "Replay a trace through the scheduler's policies",
		Description: `Tasks of a trace arrive one by one, in an order drawn by the seed, until they request more GPUs than there are; no task ends.
The table shows the share of all GPUs that was allocated by then. Nothing is started, and no host is needed.

Both files are CSV with named columns: sn, cpu_milli, memory_mib, gpu, model for hosts; name, cpu_milli, memory_mib,
num_gpu, gpu_milli (of each GPU, 1000 is a whole one) and maybe gpu_spec (models, A|B) for tasks. Policies are default
(Pinion's own), random, dotprod, clustering, packing, bestfit and fgd; the others are as in "Beware of Fragmentation"
(USENIX ATC '23).

Examples:
   pinion sim --hosts hosts.csv --tasks tasks.csv
   pinion sim --hosts hosts.csv --tasks tasks.csv --policy default,fgd --seeds 42..51 -o json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "hosts", Usage: "`FILE` with the hosts (required)"},
			&cli.StringFlag{Name: "tasks", Usage: "`FILE` with the tasks (required)"},
			&cli.StringFlag{Name: "policy", Value: "default", Usage: "`POLICIES`, separated by commas"},
			&cli.StringFlag{Name: "seeds", Value: "42..51", Usage: "seeds `A..B`, or one"},
			&cli.Float64Flag{Name: "inflate", Value: minInflate, Usage: "request `X` times all GPUs in the end"},
		},
		Action: func(c *cli.Context) error { return p.sim(c) },
	}
}

func (p Program) sim(c *cli.Context) error {
	config, err := simConfig(c)
	if err != nil {
		return err
	}
	output, err := invocation.OutputFormat(c)
	if err != nil {
		return err
	}
	runs, err := p.Simulate(c.Context, config, p.simProgress(c.App.ErrWriter))
	if err != nil {
		return err
	}
	if output == invocation.JSON {
		return invocation.PrintJSON(c.App.Writer, map[string]any{"runs": runs})
	}
	return simTable(runs).Write(c.App.Writer, table.Screen{})
}

// progressInterval is the time between two lines of progress.
const progressInterval = 5 * time.Second

// simProgress prints the progress of a replay from time to time.
func (p Program) simProgress(w io.Writer) func(done, total int) {
	printed := p.system.Clock()
	return func(done, total int) {
		if at := p.system.Clock(); done < total && at.Sub(printed) >= progressInterval {
			printed = at
			fmt.Fprintf(w, "%d of %d runs\n", done, total)
		}
	}
}

func simConfig(c *cli.Context) (SimConfig, error) {
	config := SimConfig{
		Hosts: c.String("hosts"), Tasks: c.String("tasks"),
		Policies: strings.Split(c.String("policy"), ","), Inflate: c.Float64("inflate"),
	}
	if config.Hosts == "" || config.Tasks == "" {
		return config, exit.Usagef("pinion sim needs --hosts FILE and --tasks FILE; see pinion sim --help")
	}
	if !(config.Inflate >= minInflate && config.Inflate <= 2) {
		return config, exit.Usagef("--inflate %v: must be from %v to 2, as the table ends at 130 %%", config.Inflate, minInflate)
	}
	var err error
	config.From, config.To, err = seedRange(c.String("seeds"))
	if err != nil {
		return config, exit.Usagef("--seeds %s: %w", c.String("seeds"), err)
	}
	return config, nil
}

// maxSeeds bounds the seeds of one replay.
const maxSeeds = 1000

// seedRange reads "42..51" or "42".
func seedRange(text string) (from, to int64, err error) {
	first, last, isRange := strings.Cut(text, "..")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseInt(first, 10, 32)
	to, err2 := strconv.ParseInt(last, 10, 32)
	switch {
	case errors.Join(err1, err2) != nil:
		return 0, 0, errors.New("write one number, or two as A..B")
	case to < from:
		return 0, 0, errors.New("the last seed is before the first")
	case to-from >= maxSeeds:
		return 0, 0, fmt.Errorf("at most %d seeds are allowed", maxSeeds)
	}
	return from, to, nil
}

func simTable(runs []SimRun) *table.Table {
	t := &table.Table{Header: []string{"TRACE", "POLICY", "SEED", "AT 90%", "AT 95%", "AT 100%", "AT 130%", "UNALLOCATED"}}
	for _, r := range runs {
		row := []string{r.Trace, r.Policy, strconv.FormatInt(r.Seed, 10)}
		for _, percent := range []float64{r.Allocated90, r.Allocated95, r.Allocated100, r.Allocated130, r.Unallocated130} {
			row = append(row, strconv.FormatFloat(percent, 'f', 2, 64))
		}
		t.Add(row...)
	}
	return t
}

// Simulator replays a trace. The runs are ordered by policy, then by seed; progress is called after each run, by one
// goroutine at a time.
type Simulator func(ctx context.Context, c SimConfig, progress func(done, total int)) ([]SimRun, error)

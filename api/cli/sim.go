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
)

// SimConfig says what `pinion sim` replays.
type SimConfig struct {
	Hosts, Tasks string   // files, CSV
	Policies     []string // each with every seed
	From, To     int64    // seeds, both included
	Inflate      float64  // until so much of all GPUs was asked for; 1.3 is 130 %
}

// SimRun is how much of all GPUs one policy has given away, in per cent, when so many per cent had been asked for.
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

// minInflate is where the last column of the table is.
const minInflate = 1.3

func simCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "sim",
		Usage: "replay a trace through the scheduler's policies",
		Description: `Tasks of a trace arrive one by one, in an order drawn by the seed, until more GPUs were asked for than there are; nothing
leaves. It shows how much of all GPUs was given away by then. Nothing is started, and no cluster is asked.

Both files are CSV with named columns: sn, cpu_milli, memory_mib, gpu, model for hosts; name, cpu_milli, memory_mib,
num_gpu, gpu_milli (of each GPU, 1000 is a whole one) and maybe gpu_spec (models, A|B) for tasks. Policies are default
(Pinion's own), random, dotprod, clustering, packing, bestfit and fgd; the others are as in "Beware of Fragmentation"
(USENIX ATC '23).

Examples:
   pinion sim --hosts hosts.csv --tasks tasks.csv
   pinion sim --hosts hosts.csv --tasks tasks.csv --policy default,fgd --seeds 42..51 -o json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "hosts", Usage: "the `FILE` that lists the hosts"},
			&cli.StringFlag{Name: "tasks", Usage: "the `FILE` that lists the tasks"},
			&cli.StringFlag{Name: "policy", Value: "default", Usage: "`POLICIES`, separated by commas"},
			&cli.StringFlag{Name: "seeds", Value: "42..51", Usage: "seeds `A..B`, or one"},
			&cli.Float64Flag{Name: "inflate", Value: minInflate, Usage: "ask for `X` times all GPUs in the end"},
		},
		Action: func(c *cli.Context) error { return p.sim(c) },
	}
}

func (p Program) sim(c *cli.Context) error {
	config, err := simConfig(c)
	if err != nil {
		return err
	}
	output, err := outputFormat(c)
	if err != nil {
		return err
	}
	runs, err := p.Simulate(c.Context, config, p.simProgress(c.App.ErrWriter))
	if err != nil {
		return err
	}
	if output == outputJSON {
		return printJSON(c.App.Writer, map[string]any{"runs": runs})
	}
	return simTable(runs).write(c.App.Writer, 0)
}

// simProgress says now and then how far a replay has come.
func (p Program) simProgress(w io.Writer) func(done, total int) {
	now := p.now
	if now == nil {
		now = time.Now
	}
	printed := now()
	return func(done, total int) {
		if at := now(); done < total && at.Sub(printed) >= progressInterval {
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
		return config, usageErrorf("pinion sim needs --hosts FILE and --tasks FILE; see pinion sim --help")
	}
	if !(config.Inflate >= minInflate && config.Inflate <= 2) {
		return config, usageErrorf("--inflate %v: it has to be from %v to 2, as the table ends at 130 %%", config.Inflate, minInflate)
	}
	var err error
	config.From, config.To, err = seedRange(c.String("seeds"))
	if err != nil {
		return config, usageErrorf("--seeds %s: %w", c.String("seeds"), err)
	}
	return config, nil
}

// maxSeeds is how many seeds one call replays.
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
		return 0, 0, errors.New("it has to be a number or two, A..B")
	case to < from:
		return 0, 0, errors.New("the last seed is before the first")
	case to-from >= maxSeeds:
		return 0, 0, fmt.Errorf("these are more than %d seeds", maxSeeds)
	}
	return from, to, nil
}

func simTable(runs []SimRun) *table {
	t := &table{header: []string{"TRACE", "POLICY", "SEED", "AT 90%", "AT 95%", "AT 100%", "AT 130%", "UNALLOCATED"}}
	for _, r := range runs {
		row := []string{r.Trace, r.Policy, strconv.FormatInt(r.Seed, 10)}
		for _, percent := range []float64{r.Allocated90, r.Allocated95, r.Allocated100, r.Allocated130, r.Unallocated130} {
			row = append(row, strconv.FormatFloat(percent, 'f', 2, 64))
		}
		t.add(row...)
	}
	return t
}

// Simulator is how the command line has a trace replayed: the runs come back by policy, then by seed; told is called
// by one goroutine at a time, after each run.
type Simulator func(ctx context.Context, c SimConfig, told func(done, total int)) ([]SimRun, error)

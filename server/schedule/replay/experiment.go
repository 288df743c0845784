package replay

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"pinion/server/schedule/pack"
)

// Experiment is a trace with the policies and seeds to replay.
type Experiment struct {
	Trace    string // its name in the runs
	Hosts    []Host
	Tasks    []Task
	Policies []string // see pack.Names
	From, To int64    // seeds, both included
	Inflate  float64  // see Draw
}

// Open reads the two files of an experiment, CSV or gzipped CSV (.gz). The trace is named after the task file, without the prefix
// and suffix that all task files share.
func Open(hosts, tasks string) (Experiment, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(tasks), gzipSuffix), ".csv")
	s := Experiment{Trace: strings.TrimPrefix(name, "openb_pod_list_")}
	var err error
	if s.Hosts, err = readFile(hosts, ReadHosts); err != nil {
		return s, err
	}
	s.Tasks, err = readFile(tasks, ReadTasks)
	return s, err
}

// gzipSuffix is the suffix of a gzipped file.
const gzipSuffix = ".gz"

func readFile[T any](name string, read func(io.Reader) ([]T, error)) ([]T, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	from := io.Reader(file)
	if strings.HasSuffix(name, gzipSuffix) {
		if from, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	rows, err := read(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows, nil
}

// Run replays every policy with every seed, on all cores, and returns the runs by policy, then by seed. It calls onProgress
// after each run, from one goroutine at a time.
func (s Experiment) Run(ctx context.Context, onProgress func(done, total int)) ([]Run, error) {
	seeds := int(s.To - s.From + 1)
	runs := make([]Run, len(s.Policies)*seeds)
	var lock sync.Mutex
	done := 0
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range runs {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if runs[i], err = s.one(s.Policies[i/seeds], s.From+int64(i%seeds)); err != nil {
				return err
			}
			lock.Lock()
			defer lock.Unlock()
			done++
			onProgress(done, len(runs))
			return nil
		})
	}
	return runs, group.Wait()
}

func (s Experiment) one(name string, seed int64) (Run, error) {
	w, err := Draw(s.Hosts, s.Tasks, seed, s.Inflate)
	if err != nil {
		return Run{}, err
	}
	policy, err := pack.New(name, w.Recorded, w.Draw)
	if err != nil {
		return Run{}, err
	}
	run := Replay(w, policy)
	run.Trace, run.Policy, run.Seed = s.Trace, name, seed
	return run, nil
}

package host

import (
	"context"

	"pinion/api/cli"
	"pinion/server/schedule/replay"
)

// Simulate replays a trace: every policy with every seed. progress is called after each run, by one goroutine at a time.
func Simulate(ctx context.Context, c cli.SimConfig, progress func(done, total int)) ([]cli.SimRun, error) {
	experiment, err := replay.Open(c.Hosts, c.Tasks)
	if err != nil {
		return nil, err
	}
	experiment.Policies, experiment.From, experiment.To, experiment.Inflate = c.Policies, c.From, c.To, c.Inflate
	runs, err := experiment.Run(ctx, progress)
	if err != nil {
		return nil, err
	}
	shown := make([]cli.SimRun, 0, len(runs))
	for _, run := range runs {
		shown = append(shown, cli.SimRun(run))
	}
	return shown, nil
}

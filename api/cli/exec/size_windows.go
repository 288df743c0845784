package exec

import (
	"context"
	"time"

	"pinion/api/client"
)

// pollInterval is how often the size is looked at: Windows tells nobody of a change.
const pollInterval = 500 * time.Millisecond

// terminalSizes are the sizes of this process's terminal until ctx ends.
func terminalSizes(ctx context.Context) <-chan client.TerminalSize {
	sizes := make(chan client.TerminalSize, 1)
	go func() {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				offer(sizes, sizeOfTerminal())
			case <-ctx.Done():
				return
			}
		}
	}()
	return sizes
}

//go:build unix

package exec

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"pinion/api/client"
)

// terminalSizes are the sizes of this process's terminal until ctx ends.
func terminalSizes(ctx context.Context) <-chan client.TerminalSize {
	sizes, changed := make(chan client.TerminalSize, 1), make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		defer signal.Stop(changed)
		for {
			select {
			case <-changed:
				offer(sizes, sizeOfTerminal())
			case <-ctx.Done():
				return
			}
		}
	}()
	return sizes
}

package invocation

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/urfave/cli/v2"
)

// watchInterval is the pause between two looks of --watch.
const watchInterval = 2 * time.Second

// WatchFlag is the flag of commands that list.
func WatchFlag() cli.Flag {
	return &cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "show the list again every 2 s until Ctrl-C"}
}

// QuietFlag is the flag of commands that list things with ids.
func QuietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "only the full ids, one a line"}
}

// List runs a command that lists, with --watch again and again. On a terminal each list takes the place of the one before.
func (inv *Invocation) List(c *cli.Context, list func(context.Context, *Invocation) error) error {
	if !c.Bool("watch") {
		return list(c.Context, inv)
	}
	return inv.Watch(c.Context, list)
}

// Watch runs a command that lists again and again until ctx ends.
func (inv *Invocation) Watch(ctx context.Context, list func(context.Context, *Invocation) error) error {
	shown := *inv
	var screen bytes.Buffer
	shown.Out, shown.Err = &screen, io.Writer(&screen)
	if !inv.Screen.Terminal {
		shown.Err = io.Discard // a note would stand between two lists
	}
	for {
		screen.Reset()
		if err := inv.RetryUnavailable(ctx, func() error { screen.Reset(); return list(ctx, &shown) }); err != nil {
			return endOfWatch(err)
		}
		clearScreen := ""
		if inv.Screen.Terminal {
			clearScreen = "\x1b[H\x1b[2J"
		}
		if _, err := inv.Out.Write(append([]byte(clearScreen), screen.Bytes()...)); err != nil {
			return err
		}
		if err := inv.Sleep(ctx, watchInterval); err != nil {
			return endOfWatch(err)
		}
	}
}

// endOfWatch is nil for Ctrl-C, which is how watching ends.
func endOfWatch(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

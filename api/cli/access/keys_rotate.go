package access

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// sealingPollInterval is how often `pinion keys rotate` looks how far it is.
const sealingPollInterval = 200 * time.Millisecond

func keysRotateCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "rotate",
		Usage: "Replace the key that secrets in the pool's state are sealed with",
		Description: `Makes another sealing key, gives it to the pool's servers, seals the key of the CA and the secrets of access keys with it, and removes
the key before from the servers' disks. It waits until everything is sealed anew; to go on after an interruption, run it again. Run it after a
server was removed whose disk may be in wrong hands: a removed server never gets the new key. What that server could read it still knows:
replace the access keys that it had (pinion keys ls, create, rm).

A snapshot from before needs the seal.key from before: keep that copy as long as the snapshot, and take a new one.

Examples:
   pinion keys rotate
   pinion keys rotate -o json`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if err := client.RotateSealingKey(c.Context, inv.Client); err != nil {
				return err
			}
			return waitUntilSealed(c, inv)
		},
	}
}

// waitUntilSealed returns when every secret is sealed with the new key.
func waitUntilSealed(c *cli.Context, inv *invocation.Invocation) error {
	said := -1
	for {
		now, err := client.SealingOf(c.Context, inv.Client)
		switch {
		case err != nil:
			return err
		case now.Left == 0 && inv.Output == invocation.JSON:
			return inv.PrintJSON(now)
		case now.Left == 0:
			_, err := fmt.Fprintln(inv.Out, now.Key)
			return err
		case now.Left != said:
			inv.Notef("%d secrets are left to be sealed with key %s; `pinion keys rotate` can be interrupted, the pool goes on.", now.Left, now.Key)
			said = now.Left
		}
		select {
		case <-time.After(sealingPollInterval):
		case <-c.Context.Done():
			return c.Context.Err()
		}
	}
}

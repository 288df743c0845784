package image

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

const (
	// pollInterval is the time between two looks at a transfer.
	pollInterval = 300 * time.Millisecond
	// reportInterval is the time between two lines about a transfer that takes long.
	reportInterval = 5 * time.Second
	// maxAtOnce bounds the hosts that are asked at a time.
	maxAtOnce = 32
)

func pullCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "pull",
		Usage:     "Have hosts pull an image before a task needs it",
		ArgsUsage: "IMAGE",
		Description: `The registry gives each part of the image once; the hosts give it to one another. A host removes images that no task uses when its disk fills
up: 'pinion image pin' has it keep one.

Examples:
   pinion image pull vllm/vllm-openai:v0.8
   pinion image pull my/app:2 --on 'attribute:rack == 7'
   pinion image pull my/app:2 --on-host gpu-3`,
		Flags: onFlags(),
		Action: func(c *cli.Context) error {
			inv, name, err := oneImage(system, c)
			if err != nil {
				return err
			}
			hosts, err := hostsOf(c, inv)
			if err != nil {
				return err
			}
			if name, err = imported(c.Context, inv, name); err != nil {
				return err
			}
			done, err := pullOn(c.Context, inv, hosts, name)
			if err != nil {
				return err
			}
			return printTransfers(inv, done)
		},
	}
}

// hostTransfer is the transfer of a host that has ended.
type hostTransfer struct {
	Host string `json:"host"` // its name
	client.Transfer
}

func printTransfers(inv *invocation.Invocation, done []hostTransfer) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(done)
	}
	return nil
}

// pullOn has hosts pull an image, and waits until all have it or failed.
func pullOn(ctx context.Context, inv *invocation.Invocation, hosts []client.Host, name string) ([]hostTransfer, error) {
	done, errs := make([]hostTransfer, len(hosts)), make([]error, len(hosts))
	var group errgroup.Group
	group.SetLimit(maxAtOnce)
	for i, h := range hosts {
		group.Go(func() error {
			done[i].Host = format.Plain(h.Name)
			done[i].Transfer, errs[i] = follow(ctx, inv, h, name, "", func(ctx context.Context) (client.Transfer, error) {
				return client.PullImage(ctx, inv.Client, h.ID, name)
			})
			return nil
		})
	}
	_ = group.Wait() // errs has what failed
	return done, errors.Join(errs...)
}

// follow begins a transfer on a host and waits for its end.
func follow(ctx context.Context, inv *invocation.Invocation, h client.Host, name, to string, begin func(context.Context) (client.Transfer, error)) (t client.Transfer, err error) {
	host, began := format.Plain(h.Name), inv.Now()
	err = inv.RetryUnavailable(ctx, func() error { t, err = begin(ctx); return err })
	for reported := began; err == nil && !t.Ended; {
		if err = inv.Sleep(ctx, pollInterval); err != nil {
			break
		}
		err = inv.RetryUnavailable(ctx, func() error { t, err = client.ImageTransfer(ctx, inv.Client, h.ID, name, to); return err })
		if now := inv.Now(); err == nil && !t.Ended && now.Sub(reported) >= reportInterval {
			reported = now
			inv.Notef("%s: %s of %s", host, format.Bytes(t.Done), format.Bytes(t.Total))
		}
	}
	if err == nil && t.Error != "" {
		err = exit.Errorf(exit.Failure, "%s", format.Plain(t.Error))
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", host, err)
	}
	inv.Notef("%s: done in %s", host, inv.Now().Sub(began).Round(100*time.Millisecond))
	if t.Note != "" {
		inv.Notef("%s: %s", host, format.Plain(t.Note))
	}
	return t, nil
}

func pushCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "Push an image of the pool to a registry",
		ArgsUsage: "IMAGE TARGET",
		Description: `A host that has the image pushes it, with the login that it has for the registry (docs/registries.md).

Examples:
   pinion image push my/app:1 registry.lab:5000/my/app:1`,
		Action: func(c *cli.Context) error {
			inv, image, host, to, err := imageAndTarget(system, c, "its name in a registry")
			if err != nil {
				return err
			}
			pushed, err := follow(c.Context, inv, host, image.Name, to, func(ctx context.Context) (client.Transfer, error) {
				return client.PushImage(ctx, inv.Client, host.ID, image.Name, image.Digest, to)
			})
			if err != nil {
				return err
			}
			return printTransfers(inv, []hostTransfer{{format.Plain(host.Name), pushed}})
		},
	}
}

// imageAndTarget prepares a command whose arguments are an image, which a host is found for, and where it goes.
func imageAndTarget(system invocation.System, c *cli.Context, second string) (inv *invocation.Invocation, image client.Image, host client.Host, target string, err error) {
	if c.NArg() != 2 {
		return nil, image, host, "", exit.Usagef("%s takes an image and %s; see %s --help", c.Command.HelpName, second, c.Command.HelpName)
	}
	if inv, err = system.Invoke(c); err == nil {
		image, host, err = imageOnHost(c.Context, inv, c.Args().First())
	}
	return inv, image, host, c.Args().Get(1), err
}

// imageOnHost finds an image, and a host that has it and is connected.
func imageOnHost(ctx context.Context, inv *invocation.Invocation, given string) (image client.Image, host client.Host, err error) {
	if image, err = find(ctx, inv, given); err != nil {
		return image, host, err
	}
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return image, host, err
	}
	for _, id := range image.Hosts {
		for _, h := range hosts {
			if h.ID == id && h.Connected {
				return image, h, nil
			}
		}
	}
	return image, host, exit.Errorf(exit.Failure, "no host that is connected has the image %s", image.Name)
}

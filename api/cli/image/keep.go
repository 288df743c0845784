package image

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func pinCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "pin",
		Usage:     "Pin an image: hosts pull it and do not prune it",
		ArgsUsage: "IMAGE",
		Description: `The hosts pull the image if they do not have it, and do not remove it until 'pinion image unpin'. Those that join later get it too. What is
pinned is the image that the name has now; pin it again when its tag has moved.

Examples:
   pinion image pin vllm/vllm-openai:v0.8
   pinion image pin vllm/vllm-openai:v0.8 --on 'attribute:pinion.gpu.model =~ .*H100.*'
   pinion image pin my/base:1 --copies 5`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "on", Usage: "the hosts that an `EXPRESSION` of the cluster query language selects", DefaultText: "any hosts"},
			&cli.IntFlag{Name: "copies", Usage: "how many hosts, `N`, without --on", DefaultText: "3"},
		},
		Action: func(c *cli.Context) error {
			inv, name, err := oneImage(system, c)
			if err != nil {
				return err
			}
			if c.IsSet("copies") && (c.String("on") != "" || c.Int("copies") < 1) {
				return exit.Usagef("--copies is 1 or more, and goes without --on")
			}
			digest, err := digestOf(c, inv, name)
			if err != nil {
				return err
			}
			pinned, err := client.PinImage(c.Context, inv.Client, client.Pin{Name: name, Digest: digest, On: c.String("on"), Copies: c.Int("copies")})
			if err != nil {
				return err
			}
			if err := spread(c.Context, inv, pinned); err != nil {
				return err
			}
			return printPinned(inv, []client.PinnedImage{pinned})
		},
	}
}

// digestOf is the digest of an image that a host pulls for it: the first one that is to keep it.
func digestOf(c *cli.Context, inv *invocation.Invocation, name string) (string, error) {
	hosts, err := hostsOf(c, inv)
	if err != nil {
		return "", err
	}
	if name, err = imported(c.Context, inv, name); err != nil {
		return "", err
	}
	done, err := pullOn(c.Context, inv, hosts[:1], name)
	if err != nil {
		return "", err
	}
	return done[0].Digest, nil
}

func unpinCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "unpin",
		Usage:     "Unpin an image: hosts may prune it when they need disk space",
		ArgsUsage: "IMAGE",
		Description: `Examples:
   pinion image unpin vllm/vllm-openai:v0.8`,
		Action: func(c *cli.Context) error {
			inv, image, err := knownImage(system, c)
			if err != nil {
				return err
			}
			if image.Kept != nil && image.Kept.Imported {
				return exit.Errorf(exit.Failure, "%s was imported, and no registry has it: `pinion image rm` removes it", format.ImageName(image.Name))
			}
			return client.UnpinImage(c.Context, inv.Client, image.Name)
		},
	}
}

func removeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove an image from the pool, or from a host",
		ArgsUsage: "IMAGE",
		Description: `Tasks that run keep what they have: an image that a container is made of stays on its host. An image that was imported is gone for good when
no host has it any more.

Examples:
   pinion image rm my/app:1
   pinion image rm my/app:1 --on-host gpu-3
   pinion image rm my/app:1 --dry-run`,
		Flags: append(onFlags(), invocation.DryRunFlag("removed")),
		Action: func(c *cli.Context) error {
			inv, image, err := knownImage(system, c)
			if err != nil {
				return err
			}
			everywhere := c.String("on") == "" && c.String("on-host") == ""
			switch {
			case image.Kept != nil && !everywhere:
				return exit.Errorf(exit.Failure, "the pool keeps %s, so the host would pull it again: `pinion image unpin` or `pinion image rm` without a host ends that", format.ImageName(image.Name))
			case c.Bool(invocation.DryRun):
				return showRemoval(c, inv, image)
			case image.Kept != nil:
				if err := client.UnpinImage(c.Context, inv.Client, image.Name); err != nil {
					return err
				}
				if kept, err := keptOtherwise(c.Context, inv, image, "is"); err != nil || kept {
					return err
				}
			}
			return removeFrom(c, inv, image)
		},
	}
}

// keptOtherwise reports whether the pool keeps the image under another name too, and says so: the name "is" or "would be" gone.
func keptOtherwise(ctx context.Context, inv *invocation.Invocation, image client.Image, is string) (bool, error) {
	all, err := client.Images[client.Image](ctx, inv.Client)
	for _, i := range all {
		if i.Kept != nil && i.Digest == image.Digest && i.Name != image.Name {
			inv.Notef("The name %s %s gone; its image stays, as %s.", format.ImageName(image.Name), is, format.ImageName(i.Name))
			return true, nil
		}
	}
	return false, err
}

// showRemoval prints an image that would be removed, and notes where from.
func showRemoval(c *cli.Context, inv *invocation.Invocation, image client.Image) error {
	hosts, err := hostsOf(c, inv)
	if err != nil {
		return err
	}
	hosts = slices.DeleteFunc(hosts, func(h client.Host) bool { return !slices.Contains(image.Hosts, h.ID) })
	if kept, err := keptOtherwise(c.Context, inv, image, "would be"); err != nil || kept {
		return err
	}
	inv.Notef("%s would be removed from %s; nothing was changed", format.Bytes(image.Size), format.Plural(len(hosts), "host"))
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(image)
	}
	_, err = fmt.Fprintln(inv.Out, format.ImageName(image.Name))
	return err
}

// removeFrom removes an image from the hosts that have it and that the command is about.
func removeFrom(c *cli.Context, inv *invocation.Invocation, image client.Image) error {
	hosts, err := hostsOf(c, inv)
	if err != nil {
		return err
	}
	left := 0
	for _, h := range hosts {
		if !slices.Contains(image.Hosts, h.ID) {
			continue
		}
		if err := client.RemoveImage(c.Context, inv.Client, h.ID, image.Digest); err != nil {
			left++
			inv.Notef("%s: %v", format.Plain(h.Name), err)
		}
	}
	if left > 0 {
		return exit.Errorf(exit.Failure, "the image is left on %s", format.Plural(left, "host"))
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(image)
	}
	_, err = fmt.Fprintln(inv.Out, format.ImageName(image.Name))
	return err
}

func pruneCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "prune",
		Usage: "Remove the images that nothing needs",
		Description: `Hosts do so by themselves when their disks fill up. What a container is made of, what the pool keeps, and what was used within the last ten
minutes stays.

Examples:
   pinion image prune --dry-run
   pinion image prune --on-host gpu-3`,
		Flags: append(onFlags(), invocation.DryRunFlag("removed")),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return exit.Usagef("pinion image prune takes no image: `pinion image rm` removes one")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			hosts, err := hostsOf(c, inv)
			if err != nil {
				return err
			}
			return prune(c, inv, hosts)
		},
	}
}

// prunedHost is what was removed from a host, or would be.
type prunedHost struct {
	Host    string         `json:"host"`
	Removed []client.Image `json:"removed"`
}

func prune(c *cli.Context, inv *invocation.Invocation, hosts []client.Host) error {
	dryRun := c.Bool(invocation.DryRun)
	var all []prunedHost
	bytes, count := int64(0), 0
	for _, h := range hosts {
		removed, err := client.PruneImages(c.Context, inv.Client, h.ID, dryRun)
		if err != nil {
			return fmt.Errorf("%s: %w", format.Plain(h.Name), err)
		}
		all = append(all, prunedHost{format.Plain(h.Name), removed})
		var names []string
		for _, i := range removed {
			bytes, count, names = bytes+i.Size, count+1, append(names, format.ImageName(i.Name))
		}
		if len(names) > 0 {
			inv.Notef("%s: %s", format.Plain(h.Name), strings.Join(names, ", "))
		}
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(all)
	}
	does := "removed"
	if dryRun {
		does = "would remove"
		inv.Notef("nothing was changed")
	}
	_, err := fmt.Fprintf(inv.Out, "%s %s, %s\n", does, format.Plural(count, "image"), format.Bytes(bytes))
	return err
}

// Package image is `pinion image`: it lists, pulls, pushes, imports, exports, pins and removes the images of a pool.
package image

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Command is the command `pinion image`.
func Command(system invocation.System) *cli.Command {
	list := listCommand(system)
	return &cli.Command{
		Name: "image", Aliases: []string{"images"},
		Usage: "List, pull, import, pin and remove images",
		Description: `Hosts pull the images of their tasks by themselves. These commands bring images to hosts before, keep them there, and bring images into a
pool that has no registry: what one host has, the others take from it.

Examples:
   docker save my/app:1 | pinion image import -
   pinion run --gpus 1 my/app:1
   pinion image pull vllm/vllm-openai:v0.8 --on 'attribute:pinion.gpu.model =~ .*H100.*'
   pinion image pin vllm/vllm-openai:v0.8
   pinion image ls`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{
			listCommand(system), pullCommand(system), importCommand(system), exportCommand(system), pushCommand(system),
			pinCommand(system), unpinCommand(system), removeCommand(system), pruneCommand(system),
		},
	}
}

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List the images that hosts have, and those that the pool keeps",
		Description: `KEPT is "imported" or "pinned", and where: hosts keep these, and remove others when their disks fill up.

Examples:
   pinion image ls
   pinion image ls --filter 'name=*vllm*'
   pinion image ls -o json`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.Image], error) {
			images, err := client.Images[listing.Item[client.Image]](ctx, inv.Client)
			return listing.List[client.Image]{Items: images, ID: func(i client.Image) string { return i.Name }, Table: func(shown []client.Image) (*table.Table, error) {
				return imageTable(shown), nil
			}}, err
		}),
	}
}

func imageTable(images []client.Image) *table.Table {
	t := &table.Table{Header: []string{"NAME", "DIGEST", "SIZE", "HOSTS", "KEPT"}, Optional: []string{"DIGEST", "SIZE"}, Empty: "no images; `pinion run` and `pinion image pull` bring some"}
	for _, i := range images {
		t.Add(format.ImageName(i.Name), shortDigest(i.Digest), format.Bytes(i.Size), strconv.Itoa(len(i.Hosts)), keptText(i.Kept))
	}
	return t
}

// digestDigits is how many digits of a digest people see.
const digestDigits = 12

func shortDigest(digest string) string {
	_, digits, _ := strings.Cut(digest, ":")
	return digits[:min(len(digits), digestDigits)]
}

func keptText(k *client.KeptImage) string {
	if k == nil {
		return "-"
	}
	how := "pinned"
	if k.Imported {
		how = "imported"
	}
	if k.On != "" {
		return how + ": " + k.On
	}
	return how + ": " + format.Plural(k.Copies, "host")
}

// find finds an image by its name, with or without what Docker leaves out, or by the beginning of its digest.
func find(ctx context.Context, inv *invocation.Invocation, given string) (client.Image, error) {
	all, err := client.Images[client.Image](ctx, inv.Client)
	if err != nil {
		return client.Image{}, err
	}
	var found []client.Image
	for _, i := range all {
		_, digits, _ := strings.Cut(i.Digest, ":")
		if i.Name == given || format.ImageName(i.Name) == given || format.ImageName(i.Name) == given+":latest" || i.Digest == given || len(given) >= digestDigits && strings.HasPrefix(digits, given) {
			found = append(found, i)
		}
	}
	kept := func(i client.Image) int {
		if i.Kept != nil {
			return 1
		}
		return 0
	}
	switch {
	case len(found) == 0:
		return client.Image{}, exit.Errorf(exit.Failure, "no host has an image %q; `pinion image ls` lists them", given)
	case len(found) == 1 || kept(found[0])+kept(found[1]) == 1 && len(found) == 2:
		if len(found) == 2 && found[1].Kept != nil {
			return found[1], nil // a tag that has moved since: what the pool keeps is meant
		}
		return found[0], nil
	}
	return client.Image{}, exit.Errorf(exit.Failure, "%q may be one of %d images: name one by its digest; `pinion image ls` shows them", given, len(found))
}

// oneImage prepares a command whose first argument is an image.
func oneImage(system invocation.System, c *cli.Context) (*invocation.Invocation, string, error) {
	if c.NArg() != 1 {
		return nil, "", exit.Usagef("%s takes one image; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	inv, err := system.Invoke(c)
	return inv, c.Args().First(), err
}

// knownImage prepares a command whose one argument is an image that a host has.
func knownImage(system invocation.System, c *cli.Context) (*invocation.Invocation, client.Image, error) {
	inv, name, err := oneImage(system, c)
	if err != nil {
		return nil, client.Image{}, err
	}
	image, err := find(c.Context, inv, name)
	return inv, image, err
}

// hostsOf are the hosts that a command is about: --on, --on-host, or all of them that are connected.
func hostsOf(c *cli.Context, inv *invocation.Invocation) ([]client.Host, error) {
	if given := c.String("on-host"); given != "" {
		if c.String("on") != "" {
			return nil, exit.Usagef("give --on or --on-host, one of the two")
		}
		host, err := inv.FindHost(c.Context, given)
		return []client.Host{host}, err
	}
	all, err := client.HostsWhere(c.Context, inv.Client, c.String("on"))
	if err != nil {
		return nil, err
	}
	var hosts []client.Host
	for _, h := range all {
		if !h.Connected {
			inv.Notef("%s is away, and is left out.", format.Plain(h.Name))
			continue
		}
		hosts = append(hosts, h)
	}
	if len(hosts) == 0 {
		return nil, exit.Errorf(exit.Failure, "no host that is connected is selected by %q; `pinion hosts` lists them", cmp.Or(c.String("on"), "all"))
	}
	return hosts, nil
}

func onFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "on", Usage: "the hosts that an `EXPRESSION` of the cluster query language selects, such as 'attribute:rack == 7'", DefaultText: "all hosts"},
		&cli.StringFlag{Name: "on-host", Usage: "one `HOST`, by its name or its id"},
	}
}

// imported is what to pull for a name: that of an image which was imported means its digest, and no registry is asked for it.
func imported(ctx context.Context, inv *invocation.Invocation, name string) (string, error) {
	all, err := client.Images[client.Image](ctx, inv.Client)
	for _, i := range all {
		if i.Kept != nil && i.Kept.Imported && (i.Name == name || format.ImageName(i.Name) == name || format.ImageName(i.Name) == name+":latest") {
			return i.Name + "@" + i.Digest, nil
		}
	}
	return name, err
}

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// DefinitionFlags are the flags that say what a container is, as `pinion run` has them.
func DefinitionFlags() []cli.Flag {
	resources := slices.DeleteFunc(flags(), func(f cli.Flag) bool {
		return !slices.Contains([]string{"gpus", "gpu-memory", "gpu-compute", "cpus", "memory", "shm-size"}, f.Names()[0])
	})
	container := slices.DeleteFunc(containerFlags(), func(f cli.Flag) bool { return f.Names()[0] == "name" || f.Names()[0] == "rm" })
	return slices.Concat(resources, inCategory("Container", container))
}

// DefinitionFor is the task definition that a command line names by its first argument, or one that it registers for the image: of the family prefix + name, with the
// container name. An empty name is made from the image, or is the family. It returns the name, and the definition as family:revision.
// wrong is what is wrong with the rest of the line: nothing is registered then, and the error has it too.
func DefinitionFor(ctx context.Context, c *cli.Context, inv *invocation.Invocation, prefix, name string, wrong error) (used, revision string, err error) {
	word := c.Args().First()
	if definitionName.MatchString(word) {
		known, err := findRegistered(ctx, inv, word)
		if err != nil {
			return "", "", err
		}
		if known != nil {
			if name == "" {
				name = known.Family
			}
			return name, known.name(), exit.Join(refuseDefinitionFlags(c, known.name()), wrong)
		}
	}
	d, err := parseDefinition(c)
	if err := exit.Join(err, wrong); err != nil {
		return "", "", err
	}
	if name == "" {
		name = d.Containers[0].Name
	}
	d.Family, d.Containers[0].Name = prefix+name, name
	revision, err = Register(ctx, inv, d)
	return name, revision, err
}

// refuseDefinitionFlags refuses what a registered definition says itself.
func refuseDefinitionFlags(c *cli.Context, definition string) error {
	var names []string
	for _, flag := range DefinitionFlags() {
		names = append(names, flag.Names()[0])
	}
	if err := refuseFlags(c, definition, "give", names); err != nil {
		return err
	}
	if c.NArg() > 1 {
		return exit.Usagef("%q is a part of the task definition %s: register a revision with it, or give an image", strings.Join(c.Args().Tail(), " "), definition)
	}
	return nil
}

// WithImage is the document of a definition, "family:revision", to register it anew with another image of a container. container may be empty
// where there is one.
func WithImage(ctx context.Context, inv *invocation.Invocation, definition, container, image string) (document []byte, err error) {
	known, err := findRegistered(ctx, inv, definition)
	if err != nil {
		return nil, err
	}
	if known == nil {
		return nil, fmt.Errorf("the task definition %s is gone: give another one with --definition", definition)
	}
	return known.withImage(container, image)
}

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// definitionName is the form of a registered definition: FAMILY or FAMILY:REVISION. Images of a registry have a slash.
var definitionName = lazyregexp.New(`^[A-Za-z0-9_-]+(:[0-9]{1,9})?$`)

// registered is a task definition in the pool, as far as a run needs it.
type registered struct {
	Family     string
	Revision   int
	Containers []struct{ Name string } `json:"containerDefinitions"`
	document   json.RawMessage
	tags       []spec.Tag
}

func (r *registered) name() string { return fmt.Sprintf("%s:%d", r.Family, r.Revision) }

// findRegistered finds a definition by its name, the newest revision when it has none; nil when there is none.
func findRegistered(ctx context.Context, inv *invocation.Invocation, name string) (*registered, error) {
	var out struct {
		Definition json.RawMessage `json:"taskDefinition"`
		Tags       []spec.Tag      `json:"tags"`
	}
	err := inv.Client.Call(ctx, "DescribeTaskDefinition", map[string]any{"taskDefinition": name, "include": []string{"TAGS"}}, &out)
	if refused, is := errors.AsType[*client.APIError](err); is && refused.Type == "ClientException" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := registered{document: out.Definition, tags: out.Tags}
	return &known, json.Unmarshal(out.Definition, &known)
}

// derived are the members of a registered definition that follow from the others, or that the pool has added.
type derived struct {
	ARN                string            `json:"taskDefinitionArn"`
	Revision           int               `json:"revision"`
	Status             string            `json:"status"`
	RequiresAttributes []json.RawMessage `json:"requiresAttributes"`
	Compatibilities    []string          `json:"compatibilities"`
	RegisteredAt       json.RawMessage   `json:"registeredAt"`
	RegisteredBy       string            `json:"registeredBy"`
}

// madeOf reports whether the definition says what d says and nothing else: all of it is compared, as somebody else may have registered it.
func (r *registered) madeOf(d Definition) bool {
	var known struct {
		Definition
		derived
		Constraints []json.RawMessage `json:"placementConstraints"`
	}
	strict := json.NewDecoder(bytes.NewReader(r.document))
	strict.DisallowUnknownFields()
	if strict.Decode(&known) != nil || len(known.Constraints) > 0 {
		return false
	}
	one, err1 := json.Marshal(known.Definition)
	two, err2 := json.Marshal(d)
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// derivedMembers are the JSON names of derived.
var derivedMembers = []string{"taskDefinitionArn", "revision", "status", "requiresAttributes", "compatibilities", "registeredAt", "registeredBy", "deregisteredAt"}

// withImage is the definition as it is registered anew, tags included, with another image of one container.
func (r *registered) withImage(container, image string) ([]byte, error) {
	var document map[string]any
	exact := json.NewDecoder(bytes.NewReader(r.document))
	exact.UseNumber()
	if err := exact.Decode(&document); err != nil {
		return nil, err
	}
	for _, member := range derivedMembers {
		delete(document, member)
	}
	if len(r.tags) > 0 {
		document["tags"] = r.tags
	}
	if container == "" && len(r.Containers) > 1 {
		return nil, exit.Usagef("the task definition %s has %d containers: say whose image it is with --container NAME", r.name(), len(r.Containers))
	}
	containers, _ := document["containerDefinitions"].([]any)
	for _, c := range containers {
		if c, is := c.(map[string]any); is && (container == "" || c["name"] == container) {
			c["image"] = image
			return json.Marshal(document)
		}
	}
	return nil, exit.Usagef("the task definition %s has no container %q", r.name(), container)
}

// useRegistered makes the request one for a registered definition if the first argument names one. An image of the same name has to
// be written with its registry.
func (r *request) useRegistered(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	word := c.Args().First()
	if !definitionName.MatchString(word) {
		return nil
	}
	known, err := findRegistered(ctx, inv, word)
	if known == nil || err != nil {
		r.unregistered = word
		return err
	}
	inv.Notef("running the task definition %s (an image of this name: docker.io/library/%s)", known.name(), word)
	r.definition = known.name()
	r.overrides, err = overridesOf(c, known)
	return err
}

// fixedFlags are the flags that a task cannot override in its definition.
var fixedFlags = []string{"volume", "publish", "network", "workdir", "user", "entrypoint", "ulimit", "stop-timeout", "label", "shm-size", "secret", "secret-files"}

// refuseFlags refuses those of some flags that the command line has: a definition says itself what they would. do is what is done with an image.
func refuseFlags(c *cli.Context, definition, do string, names []string) error {
	var wrong []error
	for _, name := range names {
		if c.IsSet(name) {
			wrong = append(wrong, exit.Usagef("--%s is a part of the task definition %s: register a revision with it, or %s an image", name, definition, do))
		}
	}
	return exit.Join(wrong...)
}

// overridesOf is what the command line asks of the tasks instead of what the definition says, as RunTask takes it; nil for nothing.
func overridesOf(c *cli.Context, of *registered) (map[string]any, error) {
	if err := refuseFlags(c, of.name(), "run", fixedFlags); err != nil {
		return nil, err
	}
	if len(of.Containers) == 0 {
		return nil, fmt.Errorf("the task definition %s has no container", of.name())
	}
	_, command, err := imageAndCommand(c.Args().Slice())
	if err != nil {
		return nil, err
	}
	var d Definition
	var container spec.ContainerDefinition
	if err := applyAll(c, &d, &container, applyGPUs, applyCPUs, applyMemory, applyEnvironment); err != nil {
		return nil, err
	}
	name := of.Containers[0].Name
	if c.IsSet("name") {
		name = c.String("name")
		if !slices.ContainsFunc(of.Containers, func(known struct{ Name string }) bool { return known.Name == name }) {
			return nil, exit.Usagef("--name %s is not a container of the task definition %s", name, of.name())
		}
	}
	override := map[string]any{}
	for field, value := range map[string]struct {
		set   bool
		value any
	}{
		"command": {len(command) > 0, command}, "environment": {len(container.Environment) > 0, container.Environment}, "cpu": {container.CPU > 0, container.CPU},
		"memory": {container.Memory > 0, container.Memory}, "resourceRequirements": {len(container.ResourceRequirements) > 0, container.ResourceRequirements},
	} {
		if value.set {
			override[field] = value.value
		}
	}
	if len(override) == 0 {
		return nil, nil
	}
	override["name"] = name
	return map[string]any{"containerOverrides": []any{override}}, nil
}

// Register returns the revision for a definition, "family:revision", and makes it unless the newest of the family says the same.
func Register(ctx context.Context, inv *invocation.Invocation, d Definition) (revision string, err error) {
	known, err := findRegistered(ctx, inv, d.Family)
	if err != nil {
		return "", err
	}
	return registerUnless(ctx, inv, known, d)
}

// registerUnless registers the definition, unless the one that is known, which may be nil, was made of it.
func registerUnless(ctx context.Context, inv *invocation.Invocation, known *registered, d Definition) (revision string, err error) {
	if known != nil && known.madeOf(d) {
		return known.name(), nil
	}
	document, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	revision, _, err = inv.RegisterTaskDefinition(ctx, "application/json", document)
	return revision, err
}

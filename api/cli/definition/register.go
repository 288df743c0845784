package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// Register is the command `pinion register`.
func Register(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "register",
		Usage: "Register a task definition from a file",
		Description: `The file is an ECS task definition in JSON or YAML, as for 'aws ecs register-task-definition --cli-input-json'. GPU
requirements may also be written {"type":"gpu","count":1} or gpuCount: 1. Prints the name of the new revision, and
warnings of the host on standard error.

Examples:
   pinion register -f gpu-1-taskdef.json
   pinion register -f app.yaml --family my-gpu-app
   generate | pinion register -f -`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "`FILE` with the definition, - for standard input"},
			&cli.StringFlag{Name: "family", Usage: "`NAME` of the family, instead of what the file says"},
		},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if c.String("file") == "" {
				return exit.Usagef("pinion register needs -f FILE, or -f - for standard input")
			}
			document, err := readDocument(c.String("file"), c.App.Reader)
			if err != nil {
				return err
			}
			contentType := documentType(document)
			if family := c.String("family"); family != "" {
				if document, err = replaceFamily(document, family); err != nil {
					return fmt.Errorf("%s: %w", c.String("file"), err)
				}
				contentType = "application/json"
			}
			name, reply, err := inv.RegisterTaskDefinition(c.Context, contentType, document)
			if err != nil {
				return err
			}
			if inv.Output == invocation.JSON {
				return inv.PrintJSON(reply.Body)
			}
			_, err = fmt.Fprintln(inv.Out, name)
			return err
		},
	}
}

func readDocument(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// ReadJSON reads a task definition of a file in JSON or YAML, - for standard input, as JSON.
func ReadJSON(path string, stdin io.Reader) ([]byte, error) {
	document, err := readDocument(path, stdin)
	if err != nil {
		return nil, err
	}
	return toJSON(document)
}

// toJSON is a document of either type as JSON.
func toJSON(document []byte) ([]byte, error) {
	if documentType(document) != "application/yaml" {
		return document, nil
	}
	document, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, fmt.Errorf("not a YAML document: %w", err)
	}
	return document, nil
}

// documentType is JSON or YAML by the first character, so that broken JSON is reported as JSON.
func documentType(document []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) {
		return "application/json"
	}
	return "application/yaml"
}

// replaceFamily is the document as JSON with the family replaced.
func replaceFamily(document []byte, family string) ([]byte, error) {
	document, err := toJSON(document)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, fmt.Errorf("not a task definition: %w", err)
	}
	quoted, err := json.Marshal(family)
	if err != nil {
		return nil, err
	}
	if fields == nil {
		return nil, fmt.Errorf("not a task definition: the document is empty")
	}
	fields["family"] = quoted
	return json.Marshal(fields)
}

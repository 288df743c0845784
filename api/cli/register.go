package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/yaml"

	"pinion/api/cli/client"
)

func registerCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "register",
		Usage: "register a task definition from a file",
		Description: `The file is an ECS task definition in JSON or YAML, as for 'aws ecs register-task-definition --cli-input-json'. GPU
requirements may also be written {"type":"gpu","count":1} or gpuCount: 1. Prints the name of the new revision; what was
accepted but has no effect is told on standard error.

Examples:
   pinion register -f gpu-1-taskdef.json
   pinion register -f app.yaml --family my-gpu-app
   generate | pinion register -f -`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "`FILE` with the definition, - for standard input"},
			&cli.StringFlag{Name: "family", Usage: "`NAME` of the family, instead of what the file says"},
		},
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			if c.String("file") == "" {
				return usageErrorf("pinion register needs -f FILE, or -f - for standard input")
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
			reply, err := s.register(c.Context, contentType, document)
			if err != nil {
				return err
			}
			if s.output == outputJSON {
				return printJSON(s.out, reply.Body)
			}
			name, err := registeredName(reply)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.out, name)
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

// documentType tells JSON from YAML by the first character, so that broken JSON is reported as JSON.
func documentType(document []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) {
		return "application/json"
	}
	return "application/yaml"
}

// replaceFamily is the document as JSON with the family replaced.
func replaceFamily(document []byte, family string) ([]byte, error) {
	if documentType(document) == "application/yaml" {
		var err error
		if document, err = yaml.YAMLToJSONStrict(document); err != nil {
			return nil, fmt.Errorf("not a YAML document: %w", err)
		}
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

// register sends a definition and tells the warnings that come back.
func (s *session) register(ctx context.Context, contentType string, document []byte) (client.Reply, error) {
	reply, err := s.client.Send(ctx, "RegisterTaskDefinition", contentType, document)
	for _, warning := range reply.Warnings {
		s.notef("warning: %s", warning)
	}
	return reply, err
}

// registeredName is "family:revision" of a RegisterTaskDefinition answer.
func registeredName(reply client.Reply) (string, error) {
	var answer struct {
		Definition struct {
			Family   string `json:"family"`
			Revision int    `json:"revision"`
		} `json:"taskDefinition"`
	}
	if err := json.Unmarshal(reply.Body, &answer); err != nil {
		return "", fmt.Errorf("RegisterTaskDefinition: the host's answer cannot be read: %w", err)
	}
	return fmt.Sprintf("%s:%d", answer.Definition.Family, answer.Definition.Revision), nil
}

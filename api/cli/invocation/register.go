package invocation

import (
	"context"
	"encoding/json"
	"fmt"

	"pinion/api/client"
)

// RegisterTaskDefinition registers a definition, prints the warnings that come back, and returns the name of the new
// revision, "family:revision".
func (inv *Invocation) RegisterTaskDefinition(ctx context.Context, contentType string, document []byte) (name string, reply client.Reply, err error) {
	reply, err = inv.Client.Send(ctx, "RegisterTaskDefinition", contentType, document)
	for _, warning := range reply.Warnings {
		inv.Notef("warning: %s", warning)
	}
	if err != nil {
		return "", reply, err
	}
	var output struct {
		Definition struct {
			Family   string `json:"family"`
			Revision int    `json:"revision"`
		} `json:"taskDefinition"`
	}
	if err := json.Unmarshal(reply.Body, &output); err != nil {
		return "", reply, fmt.Errorf("RegisterTaskDefinition: the host's answer cannot be read: %w", err)
	}
	return fmt.Sprintf("%s:%d", output.Definition.Family, output.Definition.Revision), reply, nil
}

package invocation

import (
	"context"
	"fmt"

	"pinion/api/client"
)

// KeyNames tells what people call the access key with an id: by its name, with the id where several keys have that name, or by the host whose own it is. An
// administrator of the pool may know all names, others know their own. A key without a name, or that is gone, is called by its id.
func KeyNames(ctx context.Context, c *client.Client) (func(id string) string, error) {
	caller, err := client.CallerOf(ctx, c)
	if err != nil {
		return nil, err
	}
	keys := []client.AccessKey{{ID: caller.KeyID, Name: caller.Name, HostID: caller.HostID}}
	if caller.Role == "admin" && caller.Cluster == "" {
		if keys, err = c.Keys(ctx); err != nil {
			return nil, err
		}
	}
	names, owners := map[string]string{}, map[string]int{}
	for _, key := range keys {
		name := key.Name
		if key.HostID != "" {
			name = fmt.Sprintf("host %.8s", key.HostID)
		}
		names[key.ID] = name
		owners[name]++
	}
	return func(id string) string {
		switch name := names[id]; {
		case name == "":
			return id
		case owners[name] > 1:
			return fmt.Sprintf("%s (%s)", name, id)
		default:
			return name
		}
	}, nil
}

// KeyNamesOrIDs is KeyNames, which calls keys by their ids when nobody tells their names.
func KeyNamesOrIDs(ctx context.Context, c *client.Client) func(id string) string {
	name, err := KeyNames(ctx, c)
	if err != nil {
		return func(id string) string { return id }
	}
	return name
}

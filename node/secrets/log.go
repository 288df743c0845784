package secrets

import (
	"context"
	"fmt"

	"pinion/raftfsm/valuefrom"
)

// LogOptions are the values of options of a container's log driver, by their names. It asks the pool once. The error wraps valuefrom.ErrUnresolved
// when one cannot be had however often one asks.
func (s Source) LogOptions(ctx context.Context, taskID, cluster, container string, wanted []valuefrom.Secret) (map[string]string, error) {
	values, missing := map[string]string{}, []string{}
	for _, option := range wanted {
		ref, err := valuefrom.Parse(option.ValueFrom)
		if err == nil && ref.Store == valuefrom.Command {
			values[option.Name], err = s.run(ctx, taskID, cluster, ref)
		} else {
			missing = append(missing, option.Name)
		}
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", valuefrom.ErrUnresolved, err) // as for the secrets of containers, the program is asked once
		}
		if err != nil {
			return nil, fmt.Errorf("log option %s of container %s: %w", option.Name, container, err)
		}
	}
	if len(missing) == 0 {
		return values, nil
	}
	kept, err := s.Logs(ctx, taskID, []string{container})
	if err != nil {
		return nil, err
	}
	for _, v := range kept {
		if v.Container == container {
			values[v.Name] = string(v.Value)
		}
	}
	for _, name := range missing {
		if _, known := values[name]; !known {
			return nil, fmt.Errorf("%w: the pool's answer lacks the log option %s of container %s", valuefrom.ErrUnresolved, name, container)
		}
	}
	return values, nil
}

package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

var fullID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// clusterFlag is the flag of every command that looks at tasks.
func clusterFlag() cli.Flag {
	return &cli.StringFlag{Name: "cluster", Value: "default", Usage: "`NAME` of the cluster"}
}

// resolveTaskIDs turns what people type for tasks (an id, the beginning of one, or an ARN) into full ids.
func (s *session) resolveTaskIDs(ctx context.Context, cluster string, given []string) ([]string, error) {
	var known []string
	ids := make([]string, len(given))
	for i, name := range given {
		name = strings.ToLower(client.ResourceID(name))
		if fullID.MatchString(name) {
			ids[i] = name
			continue
		}
		if known == nil {
			var err error
			if known, err = s.client.TaskIDs(ctx, cluster); err != nil {
				return nil, err
			}
		}
		id, err := completeID(name, known)
		if err != nil {
			return nil, fmt.Errorf("%w in cluster %s", err, cluster)
		}
		ids[i] = id
	}
	return ids, nil
}

// completeID finds the one id that begins with prefix.
func completeID(prefix string, ids []string) (string, error) {
	var matches []string
	for _, id := range ids {
		if prefix != "" && strings.HasPrefix(id, prefix) {
			matches = append(matches, id)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return "", fmt.Errorf("no task has an id that begins with %q; `pinion ps -a` lists the tasks", prefix)
	}
	return "", fmt.Errorf("%q is the beginning of %s (%s); type more of it", prefix, plural(len(matches), "task id"), abbreviateList(matches))
}

// abbreviateList are the first of many words.
func abbreviateList(words []string) string {
	const maxListed = 8
	if len(words) > maxListed+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListed], ", "), len(words)-maxListed)
	}
	return strings.Join(words, ", ")
}

// describeTasks reads tasks that must all exist.
func (s *session) describeTasks(ctx context.Context, cluster string, ids []string) ([]client.Task, error) {
	tasks, failures, err := s.client.DescribeTasks(ctx, cluster, ids)
	if err != nil {
		return nil, err
	}
	if len(failures) > 0 {
		return nil, fmt.Errorf("cluster %s has no task %s (%s); stopped tasks are forgotten after an hour", cluster, client.ResourceID(failures[0].ARN), failures[0].Reason)
	}
	return tasks, nil
}

package ecs

import (
	"cmp"
	"reflect"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// scope knows where the input of an operation says which cluster it is about, so that a key that is bound to a cluster
// can be held to it in one place.
type scope struct {
	name     string
	cluster  []int // the field with the cluster of what is asked for; without a value it is the default cluster
	clusters []int // a list of clusters; empty is the default cluster
	resource []int // an ARN
	open     bool  // what belongs to no cluster, such as task definitions, is for every key with the role
}

func scopeOf(o Operation) scope {
	cluster := jsonField(o.Input, "cluster")
	if cluster != nil && o.Input.FieldByIndex(cluster).Type == reflect.TypeFor[wire.Unsupported]() {
		cluster = nil // no value of it passes, so the call is about all clusters
	}
	if cluster == nil {
		cluster = jsonField(o.Input, "clusterName")
	}
	return scope{
		name: o.Name, cluster: cluster, clusters: jsonField(o.Input, "clusters"), resource: jsonField(o.Input, "resourceArn"),
		open: o.Role != spec.RoleAdmin,
	}
}

// refuse refuses an input that is about another cluster than the one that the caller's key is bound to.
func (s scope) refuse(c *Request, input reflect.Value) error {
	if c.Scope == "" {
		return nil
	}
	named, err := s.named(c, input)
	if err != nil {
		return err
	}
	if named == nil && !s.open {
		return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the cluster %s alone, and %s is about all of them.", c.Principal, c.Scope, s.name)
	}
	for _, cluster := range named {
		if err := c.Scope.Check(c.Principal, cluster); err != nil {
			return err
		}
	}
	return nil
}

// named are the clusters that an input is about; none when that is not what it is about.
func (s scope) named(c *Request, input reflect.Value) ([]string, error) {
	var given []string
	switch {
	case s.cluster != nil:
		given = []string{stringField(input, s.cluster)}
	case s.clusters != nil:
		given, _ = input.FieldByIndex(s.clusters).Interface().([]string)
		if len(given) == 0 {
			given = []string{""}
		}
	case s.resource != nil:
		return c.clustersOf(stringField(input, s.resource)), nil
	}
	var names []string
	for _, text := range given {
		r, err := parseResource("cluster", cmp.Or(text, spec.DefaultCluster))
		if err != nil {
			return nil, err
		}
		names = append(names, r.name)
	}
	return names, nil
}

// clustersOf is the cluster that a resource with this ARN belongs to; none for what belongs to no cluster, or is not known.
func (c *Request) clustersOf(arn string) []string {
	path := strings.Split(arn[strings.LastIndexByte(arn, ':')+1:], "/")
	switch {
	case len(path) == 2 && path[0] == "task": // the old form, without the cluster
		if task := c.View.Task(path[1]); task != nil {
			return []string{task.Cluster}
		}
		return nil
	case len(path) == 2 && path[0] == "container-instance":
		if host := c.View.Host(path[1]); host != nil {
			return []string{host.Cluster}
		}
		return nil
	case len(path) < 2 || path[0] == "task-definition" || path[0] == "capacity-provider":
		return nil
	}
	return path[1:2]
}

// jsonField finds the field with a JSON name; nil when there is none.
func jsonField(of reflect.Type, name string) []int {
	if field, known := wire.Fields(of)[name]; known {
		return field.Index
	}
	return nil
}

// stringField is the value of a field of text; empty where there is no such field.
func stringField(input reflect.Value, field []int) string {
	if field == nil {
		return ""
	}
	value := input.FieldByIndex(field)
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	if value.Kind() != reflect.String {
		return ""
	}
	return value.String()
}

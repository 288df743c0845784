package logforward

import (
	"strings"

	"pinion/node/firelens"
	"pinion/node/task"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

// forwardRecord describes the container of a forwarder. It is kept beside the log, because the container may be gone before its log is sent. Of secrets it has
// the references.
type forwardRecord struct {
	Log     logdriver.Configuration `json:"log"`
	Name    string                  `json:"name"`  // of the container
	ID      string                  `json:"id"`    // of the container
	Short   string                  `json:"short"` // the first digits of its task's id, and its name
	Image   string                  `json:"image"`
	Cluster string                  `json:"cluster,omitempty"` // of its task
	Router  string                  `json:"router,omitempty"`  // directory of the files of the log router that gets the lines
	Extra   map[string]string       `json:"extra,omitempty"`   // labels and variables that the options name
}

// shortID is the number of digits of a short task id, as Docker has them.
const shortID = 12

// forwardRecordOf makes the note of a container whose log driver sends lines elsewhere.
func forwardRecordOf(c *task.Container, region string) forwardRecord {
	d := task.Describe(c)
	short := d.Task.ID[:min(shortID, len(d.Task.ID))] + "." + c.Def.Name
	if c.Def.LogConfiguration.Routed() {
		return forwardRecord{Log: logdriver.Configuration{LogDriver: logdriver.Firelens}, Name: c.Def.Name, ID: c.ID, Short: firelens.Tag(c.Def.Name, d.Task.ID), Router: routerDir(d)}
	}
	return forwardRecord{Log: *c.Def.LogConfiguration, Name: c.Def.Name, ID: c.ID, Short: short, Image: c.Def.Image, Cluster: d.Task.Cluster, Extra: extra(d, c.Def, region)}
}

// routerDir is the directory of the files of the log router of a task; empty: it has none.
func routerDir(d task.Description) string {
	for _, c := range d.Siblings {
		if c.Def.FirelensConfiguration != nil {
			return task.DirOf(c)
		}
	}
	return ""
}

// maxExtra bounds the labels and variables that each line carries, maxExtraValue one of them, in bytes.
const maxExtra, maxExtraValue = 8 << 10, 1 << 10

// extra are the labels and variables that the options labels and env name. Secrets are none of them.
func extra(d task.Description, def *spec.ContainerDefinition, region string) map[string]string {
	arn := "arn:aws:ecs:" + region + ":" + spec.AccountID + ":"
	_, version, _ := strings.Cut(d.Task.Definition, ":")
	labels := map[string]string{
		"com.amazonaws.ecs.cluster":                 arn + "cluster/" + d.Task.Cluster,
		"com.amazonaws.ecs.task-arn":                arn + "task/" + d.Task.Cluster + "/" + d.Task.ID,
		"com.amazonaws.ecs.container-name":          def.Name,
		"com.amazonaws.ecs.task-definition-family":  d.Definition.Family,
		"com.amazonaws.ecs.task-definition-version": version,
	}
	named, left := map[string]string{}, maxExtra
	add := func(name, value string) {
		value = value[:min(len(value), maxExtraValue)]
		if left -= len(name) + len(value); left >= 0 {
			named[name] = strings.ToValidUTF8(value, "")
		}
	}
	for name := range strings.SplitSeq(def.LogConfiguration.Options["labels"], ",") {
		if value, own := def.DockerLabels[name]; own {
			add(name, value)
		} else if value, known := labels[name]; known {
			add(name, value)
		}
	}
	for name := range strings.SplitSeq(def.LogConfiguration.Options["env"], ",") {
		for _, v := range def.Environment {
			if v.Name == name {
				add(name, v.Value)
			}
		}
	}
	return named
}

// tag is the tag of the container's lines: the one of an option, or else the short id, as with Docker's drivers.
func (n *forwardRecord) tag() string {
	if text := n.Log.Tag(n.Short, n.ID, n.ID, n.Image); text != "" {
		return text
	}
	return n.Short
}

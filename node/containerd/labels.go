package containerd

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/label"
)

// Pinion's labels of a container. An image's labels are never copied here, because labels control the runtime.
const (
	labelTask       = "pinion.task"
	labelContainer  = "pinion.container"
	labelImage      = "pinion.image"
	labelDigest     = "pinion.digest"
	labelGPUs       = "pinion.gpus"
	labelShared     = "pinion.gpus-shared" // "true" when other tasks may have the GPUs too
	labelCgroup     = "pinion.cgroup"
	labelNotStarted = "pinion.not-started" // written before a container that was created only is killed
	labelExit       = "pinion.exit"        // written once, when the container has exited
	labelPin        = "pinion.keep"        // on the record that keeps a shim, see shimPins
	labelPause      = "pinion.pause"       // on a pause container: the task whose namespaces it holds
)

// containerLabels are Pinion's own labels and the definition's.
func containerLabels(c runtime.ContainerSpec, group string) map[string]string {
	labels := map[string]string{}
	for name, value := range c.Def.DockerLabels {
		if !label.Reserved(name) { // the API refuses them; a host trusts no definition
			labels[name] = value
		}
	}
	maps.Copy(labels, map[string]string{
		labelTask:      c.Task.ID,
		labelContainer: c.Def.Name,
		labelImage:     c.Image.Ref,
		labelDigest:    c.Image.Digest,
		labelGPUs:      strings.Join(c.GPUs, ","),
		labelShared:    strconv.FormatBool(c.Shared),
		labelCgroup:    group,
	})
	return labels
}

// exitRecord is the value of labelExit.
type exitRecord struct {
	Code int       `json:"code"`
	At   time.Time `json:"at"`
	OOM  bool      `json:"oom,omitempty"`
	Lost string    `json:"lost,omitempty"`

	PeakMemory int64 `json:"peakMemory,omitempty"`
}

func recordedExit(labels map[string]string) *runtime.Exit {
	var e exitRecord
	if json.Unmarshal([]byte(labels[labelExit]), &e) != nil {
		return nil
	}
	exit := runtime.Exit(e)
	return &exit
}

func encodeExit(e runtime.Exit) string {
	raw, _ := json.Marshal(exitRecord(e))
	return string(raw)
}

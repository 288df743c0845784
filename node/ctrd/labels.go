package ctrd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pinion/node/runtime"
)

// Labels of a container. Nothing of an image's own labels is ever copied here: labels steer the runtime.
const (
	labelTask      = "pinion.task"
	labelContainer = "pinion.container"
	labelImage     = "pinion.image"
	labelDigest    = "pinion.digest"
	labelGPUs      = "pinion.gpus"
	labelCgroup    = "pinion.cgroup"
	labelExit      = "pinion.exit" // written once, when the container has ended
	labelPin       = "pinion.keep" // on the record that keeps a shim, see keepShim
)

func containerLabels(c runtime.ContainerSpec, group string) map[string]string {
	return map[string]string{
		labelTask:      c.Task.ID,
		labelContainer: c.Def.Name,
		labelImage:     c.Image.Ref,
		labelDigest:    c.Image.Digest,
		labelGPUs:      strings.Join(c.GPUs, ","),
		labelCgroup:    group,
	}
}

// exitRecord is the value of labelExit.
type exitRecord struct {
	Code int       `json:"code"`
	At   time.Time `json:"at"`
	OOM  bool      `json:"oom,omitempty"`
	Lost string    `json:"lost,omitempty"`
}

func recordedExit(labels map[string]string) *runtime.Exit {
	var e exitRecord
	if json.Unmarshal([]byte(labels[labelExit]), &e) != nil {
		return nil
	}
	return &runtime.Exit{Code: e.Code, At: e.At, OOM: e.OOM, Lost: e.Lost}
}

func encodeExit(e runtime.Exit) string {
	raw, _ := json.Marshal(exitRecord(e))
	return string(raw)
}

// startedDir holds one file for each container that was started: it tells a container whose shim died from one that
// never ran, and when it started, at the price of no disk write that is waited for.
const startedDir = "started"

func (r *Runtime) recordStarted(id string, at time.Time) error {
	return os.WriteFile(r.startedFile(id), at.UTC().AppendFormat(nil, time.RFC3339Nano), 0o600)
}

// startedAt is zero for a container that never ran.
func (r *Runtime) startedAt(id string) time.Time {
	raw, err := os.ReadFile(r.startedFile(id))
	if err != nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339Nano, string(raw))
	return at
}

func (r *Runtime) removeStarted(id string) { os.Remove(r.startedFile(id)) }

func (r *Runtime) startedFile(id string) string {
	return filepath.Join(r.config.Dir, startedDir, filepath.Base(id))
}

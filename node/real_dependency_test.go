package node_test

import (
	"fmt"
	"testing"

	"pinion/raftfsm/spec"
)

// script makes the container run a shell script on the test's image, with the task's scratch space at /shared.
func (m *realHost) script(d spec.ContainerDefinition, text string) spec.ContainerDefinition {
	d.Image, d.Command, d.Memory = m.image, []string{"sh", "-c", text}, 64
	d.MountPoints = []spec.MountPoint{{SourceVolume: "shared", ContainerPath: "/shared"}}
	return d
}

// TestOrderHealthAndRestartsOnRealContainers: the database is well once the migration has run, and the program, which
// depends on it, ends badly the first time.
func TestOrderHealthAndRestartsOnRealContainers(t *testing.T) {
	m := newRealHost(t)
	agent := m.boot()
	db := m.script(sidecar("db"), "while :; do sleep 0.1; done")
	db.HealthCheck = &spec.HealthCheck{Command: []string{"CMD-SHELL", "test -e /shared/migrated"}, Interval: 1, Timeout: 5, Retries: 3}
	db.StopTimeout = new(int)
	migrate := m.script(sidecar("migrate"), "echo migrated > /shared/migrated")
	program := m.script(container("main"), `cat /shared/again /taken/migrated 2>/dev/null; echo ran; test -e /shared/again || { echo again > /shared/again; exit 1; }`)
	program.RestartPolicy = &spec.RestartPolicy{Enabled: true, IgnoredExitCodes: []int{0}, RestartAttemptPeriod: new(int)}
	task := m.control.assign(fmt.Sprintf("%032x", taskNumber.Add(1)), spec.TaskDefinition{
		Volumes:    []spec.Volume{{Name: "shared"}},
		Containers: []spec.ContainerDefinition{after(program, "db HEALTHY", "migrate SUCCESS"), db, migrate},
	})
	report := m.until(task, is(spec.Stopped))
	if code(report, 0) != 0 || code(report, 2) != 0 || report.Containers[1].Health != spec.Healthy {
		t.Errorf("it ended as %+v", report)
	}
	if text := m.output(agent, task); text != "ran\nagain\nran\n" {
		t.Errorf("it wrote %q", text)
	}
}

package many

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/api/client"
	"pinion/packaging/testbed"
)

// testSecretsOverHosts runs a task with a secret on every host, while the leader is killed, and looks for its text on every disk.
func (p *pool) testSecretsOverHosts(t *testing.T) {
	text, leader := rand.Text(), p.leader(t)
	p.mustCall(t, leader, "CreateSecret", object{"Name": "many", "SecretString": text}, &object{})
	container := object{"name": "main", "image": "busybox", "memory": 16, "command": []string{"sleep", "3600"}, "stopTimeout": 1, "secrets": []object{{"name": "TOKEN", "valueFrom": "many"}}}
	p.mustCall(t, leader, "RegisterTaskDefinition", object{"family": "secrets", "networkMode": "none", "containerDefinitions": []object{container}}, &object{})
	hosts, err := p.hostsByName(leader)
	must(t, err)
	var running []task
	for _, h := range p.Hosts() {
		var started tasks
		p.mustCall(t, leader, "StartTask", object{"taskDefinition": "secrets", "containerInstances": []string{hosts[h.Name].ID}, "enableExecuteCommand": true}, &started)
		running = append(running, started.Tasks...)
	}
	must(t, leader.Kill(t.Context())) // the hosts that have not asked yet wait for the next one
	p.leader(t)
	p.start(t, leader)
	p.waitConverged(t)
	for _, one := range running {
		p.wait(t, p.leader(t), one.id(), "RUNNING")
		c, err := p.client(p.leader(t))
		must(t, err)
		var out bytes.Buffer
		_, err = c.Exec(t.Context(), one.id(), client.ExecRequest{Command: []string{"sh", "-c", `printf %s "$TOKEN" | sha256sum`}, Stdout: &out})
		if want := fmt.Sprintf("%x  -\n", sha256.Sum256([]byte(text))); err != nil || out.String() != want {
			t.Errorf("task %s has %q, %v", one.id(), &out, err)
		}
	}
	p.wantOnNoDisk(t, text)
	p.stopTasks(t, "default", running...)
	p.wantOnNoDisk(t, text)
	for _, h := range p.Hosts() {
		mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", h.PID()))
		if err != nil || bytes.Contains(mounts, []byte("pinion-secrets "+h.Dir)) {
			t.Errorf("%s: memory for secrets is left mounted, %v", h.Name, err)
		}
	}
}

// wantOnNoDisk looks for a text in every file on the disks of all hosts.
func (p *pool) wantOnNoDisk(t *testing.T, text string) {
	t.Helper()
	for _, h := range p.Hosts() {
		files := 0
		for _, path := range filesOnDisk(t, h) {
			raw, err := os.ReadFile(path)
			if files++; err == nil && bytes.Contains(raw, []byte(text)) {
				t.Errorf("%s: %s has the secret", h.Name, path)
			}
		}
		if files < 20 {
			t.Errorf("%s has %d files", h.Name, files)
		}
	}
}

// filesOnDisk are the regular files on the disk of a host's data directory; what is mounted below it is not on the disk.
func filesOnDisk(t *testing.T, h *testbed.Host) (all []string) {
	t.Helper()
	var top unix.Stat_t
	must(t, unix.Stat(h.Dir, &top))
	must(t, filepath.WalkDir(h.Dir, func(path string, entry fs.DirEntry, err error) error {
		var stat unix.Stat_t
		switch {
		case err != nil || unix.Lstat(path, &stat) != nil: // it went meanwhile
		case stat.Dev != top.Dev && entry.IsDir():
			return filepath.SkipDir
		case stat.Dev == top.Dev && entry.Type().IsRegular():
			all = append(all, path)
		}
		return nil
	}))
	return all
}

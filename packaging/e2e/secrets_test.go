package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tellsSecrets is a script whose log has the SHA-256 of each of these variables, and nothing of their values.
func tellsSecrets(names ...string) string {
	script := ""
	for _, name := range names {
		script += fmt.Sprintf(`echo %s $(printf %%s "$%s" | sha256sum | cut -c1-64); `, name, name)
	}
	return script + "trap exit TERM; sleep 3600 & wait"
}

// told is the line of a script of tellsSecrets.
func told(name, value string) string {
	return fmt.Sprintf("%s %x\n", name, sha256.Sum256([]byte(value)))
}

// putSecret has the pool keep a secret.
func (h *host) putSecret(t testing.TB, name, value string, flags ...string) {
	t.Helper()
	command := exec.Command(binary, append([]string{"--data-dir", h.dir, "secret", "put", name}, flags...)...)
	command.Stdin = strings.NewReader(value)
	if out, err := command.CombinedOutput(); err != nil || bytes.Contains(out, []byte(value)) {
		t.Fatalf("%v: %s", err, out)
	}
}

func secretsHost(t *testing.T) *host {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf %s \"printed for $1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, "--secret-command", "program="+program)
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	return h
}

func TestATaskHasTheSecretsOfThePool(t *testing.T) {
	h := secretsHost(t)
	text := rand.Text()
	h.putSecret(t, "db", fmt.Sprintf(`{"user":"pinion","password":%q}`, text+"password"))
	h.aws(t, "aws ssm put-parameter --name /prod/token --type SecureString --value "+text+"token")
	h.aws(t, "aws ssm put-parameter --name plain --type String --value "+text+"plain")
	h.aws(t, "aws secretsmanager create-secret --name key --secret-string "+text+"old")
	h.registerShell(t, "secretive", 0, tellsSecrets("PASSWORD", "TOKEN", "PLAIN", "KEY", "PRINTED"), object{
		"secrets": []object{
			{"name": "PASSWORD", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:db:password::"},
			{"name": "TOKEN", "valueFrom": "arn:aws:ssm:us-east-1:123456789012:parameter/prod/token"},
			{"name": "PLAIN", "valueFrom": "plain"}, {"name": "KEY", "valueFrom": "key"}, {"name": "PRINTED", "valueFrom": "pinion:command:program:x"},
		},
		"healthCheck": object{"command": []string{"CMD-SHELL", `test -n "$TOKEN"`}, "interval": 5, "retries": 1},
	})
	id := h.runTask(t, "secretive")
	h.waitStatus(t, id, "RUNNING")
	t.Run("as variables of its process, its health check and its commands", func(t *testing.T) {
		want := told("PASSWORD", text+"password") + told("TOKEN", text+"token") + told("PLAIN", text+"plain") + told("KEY", text+"old") + told("PRINTED", "printed for x")
		eventually(t, "the task tells them", func() bool { return h.log(t, id) == want })
		if out := h.pinion(t, "exec", id, "--", "sh", "-c", `printf %s "$TOKEN" | sha256sum | cut -c1-64`); "TOKEN "+out != told("TOKEN", text+"token") {
			t.Errorf("a command has %s", out)
		}
		eventually(t, "it is healthy", func() bool { return h.describe(t, id).text("healthStatus") == "HEALTHY" })
	})
	t.Run("and nobody else reads them", func(t *testing.T) { h.wantNowhere(t, text, id) })
	t.Run("a new version is for tasks that start later", func(t *testing.T) {
		h.aws(t, "aws secretsmanager put-secret-value --secret-id key --secret-string "+text+"new")
		later := h.runTask(t, "secretive")
		eventually(t, "it has the new one", func() bool { return strings.Contains(h.log(t, later), told("KEY", text+"new")) })
		if log := h.log(t, id); !strings.Contains(log, told("KEY", text+"old")) {
			t.Errorf("the first one has %s", log)
		}
		h.stop(t, later)
	})
	t.Run("also when Pinion restarts", func(t *testing.T) {
		h.signalAndWait(t, unix.SIGKILL)
		h.start(t)
		eventually(t, "its commands have them", func() bool {
			out, err := h.tryPinion("exec", id, "--", "sh", "-c", `printf %s "$TOKEN" | sha256sum | cut -c1-64`)
			return err == nil && "TOKEN "+out == told("TOKEN", text+"token")
		})
	})
	h.stop(t, id)
	eventually(t, "no memory is mounted for them any more", func() bool {
		mounts, _ := os.ReadFile("/proc/mounts")
		return !strings.Contains(string(mounts), filepath.Join(h.dir, "runtime", "secrets"))
	})
	h.wantNowhere(t, text, id)
}

// wantNowhere checks that a text is in no file on the disk of the host, in no answer about a task, and that the audit log has who got it.
func (h *host) wantNowhere(t *testing.T, text, id string) {
	t.Helper()
	if found := filesWith(t, h.dir, text); len(found) != 0 {
		t.Errorf("these files have it: %v", found)
	}
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	h.pinion(t, "snapshot", "save", snapshot)
	if raw, err := os.ReadFile(snapshot); err != nil || bytes.Contains(raw, []byte(text)) {
		t.Errorf("a snapshot has it: %v", err)
	}
	answers := h.pinion(t, "inspect", id) + h.pinion(t, "secret", "ls", "-o", "json") + h.pinion(t, "events", "-o", "json") + fmt.Sprint(h.mustCall(t, "DescribeTaskDefinition", object{"taskDefinition": "secretive"}), h.describe(t, id))
	audit := h.pinion(t, "audit", "-o", "json")
	if strings.Contains(answers+audit+h.output.String(), text) {
		t.Error("an answer, the audit log or Pinion's own log has it")
	}
	if !strings.Contains(audit, "parameter /prod/token") || !strings.Contains(audit, id) {
		t.Error("the audit log does not say which secrets the task got")
	}
}

// filesWith lists the files on the disk of a directory that have a text; what is mounted below it is not on the disk.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	var top unix.Stat_t
	if err := unix.Stat(dir, &top); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		var stat unix.Stat_t
		switch {
		case err != nil || unix.Lstat(path, &stat) != nil: // it went meanwhile
		case stat.Dev != top.Dev && entry.IsDir():
			return filepath.SkipDir
		case stat.Dev == top.Dev && entry.Type().IsRegular():
			files++
			if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte(text)) {
				found = append(found, path)
			}
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Errorf("%d files were read: %v", files, err)
	}
	return found
}

func TestATaskWithoutItsSecretDoesNotStart(t *testing.T) {
	h := sharedHost(t)
	h.putSecret(t, "text", "no object")
	h.aws(t, `aws secretsmanager create-secret --name elsewhere --secret-string x --tags Key=pinion.clusters,Value="default"`)
	h.mustCall(t, "CreateCluster", object{"clusterName": "secret-lab"})
	h.aws(t, `aws secretsmanager create-secret --name lab --secret-string x --tags Key=pinion.clusters,Value=secret-lab`)
	for valueFrom, says := range map[string]string{
		"missing": "missing", "lab": "secret lab", "arn:aws:secretsmanager:us-east-1:123456789012:secret:text:key::": "json", "text:7": "version 7", "pinion:command:none:x": "--secret-command",
	} {
		h.registerShell(t, "secretless", 0, "true", object{"secrets": []object{{"name": "A", "valueFrom": valueFrom}}})
		id := h.runTask(t, "secretless")
		task := h.waitStopped(t, id)
		if reason := task.text("stoppedReason"); !strings.HasPrefix(reason, "ResourceInitializationError") || !strings.Contains(strings.ToLower(reason), says) || task.text("stopCode") != "TaskFailedToStart" {
			t.Errorf("%s: %s %s", valueFrom, task.text("stopCode"), reason)
		}
	}
	h.registerShell(t, "secret-files", 0, "cat /run/secrets/A; exec cat /run/secrets/B", object{
		"secrets":      []object{{"name": "A", "valueFrom": "elsewhere"}, {"name": "B", "valueFrom": "text"}},
		"dockerLabels": object{"pinion.secret-files": "/run/secrets"},
	})
	id := h.runTask(t, "secret-files")
	h.waitStopped(t, id)
	if log := h.log(t, id); log != "xno object\n" {
		t.Errorf("as files: %q", log)
	}
}

package containerd_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
)

// secretText is a text that no file of a disk may have.
const secretText = "correct-horse-battery-staple"

func withSecrets(files string, secrets ...runtime.Secret) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.Secrets, c.SecretFiles = secrets, files }
}

var password = runtime.Secret{Name: "DB_PASSWORD", Value: secretText}

func TestAContainerHasItsSecrets(t *testing.T) {
	h := newHost(t).withBusybox()
	plain := func(*runtime.ContainerSpec) {}
	for name, c := range map[string]struct {
		change, secrets func(*runtime.ContainerSpec)
		script, want    string
	}{
		"as a variable":                         {plain, withSecrets("", password), "echo $DB_PASSWORD", secretText},
		"under the variables of its host":       {func(c *runtime.ContainerSpec) { c.Env = append(c.Env, "LIMIT=1") }, withSecrets("", password, runtime.Secret{Name: "LIMIT", Value: "9"}), "env | grep -c LIMIT; echo $LIMIT $DB_PASSWORD", "1\n1 " + secretText},
		"over the variables of its image":       {plain, withSecrets("", runtime.Secret{Name: "PATH", Value: "/bin:/mine"}), "env | grep -c ^PATH=; echo $PATH", "1\n/bin:/mine\n"},
		"of any bytes, as files":                {plain, withSecrets("/run/secrets", runtime.Secret{Name: "raw", Value: "a\x00\xffb"}), "od -An -tx1 /run/secrets/raw", " 61 00 ff 62\n"},
		"and not those of another container":    {asUser("1234"), withSecrets("", password), "mount -o remount,rw /run/pinion 2>/dev/null; ls /run/pinion; grep -c pinion-secrets /proc/self/mounts", "entrypoint\nsecrets\n1\n"},
		"with its own command as first process": {plain, withSecrets("", password), "tr '\\0' ' ' </proc/1/cmdline", "tr "},
		"of several lines and with an equals":   {plain, withSecrets("", runtime.Secret{Name: "A", Value: "one\ntwo=3"}, password), `echo "$A"`, "one\ntwo=3\n"},
		"of a user who is not root":             {asUser("1234:5678"), withSecrets("", password), "id -u; echo $DB_PASSWORD", "1234\n" + secretText},
		"that no other user reads":              {plain, withSecrets("", password), "stat -c %u%a /run/pinion/secrets", "0400"},
		"in a user namespace":                   {withIDs(someIDs), withSecrets("", password), "stat -c %u /run/pinion/secrets; echo $DB_PASSWORD", "0\n" + secretText},
		"with a root file system to be read":    {func(c *runtime.ContainerSpec) { c.Def.ReadonlyRootFilesystem = new(true) }, withSecrets("", password), "echo $DB_PASSWORD", secretText},
		"as files":                              {asUser("1234"), withSecrets("/run/secrets", password), "cat /run/secrets/DB_PASSWORD; echo; echo =$DB_PASSWORD", secretText + "\n=\n"},
		"as files that it cannot change":        {plain, withSecrets("/run/secrets", password), "echo x 2>/dev/null >/run/secrets/DB_PASSWORD || echo refused", "refused"},
		"as files in a user namespace":          {withIDs(someIDs), withSecrets("/run/secrets", password), "stat -c %u%a /run/secrets/DB_PASSWORD; cat /run/secrets/DB_PASSWORD", "0444\n" + secretText},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.t = t
			if exit, out := h.run(c.change, c.secrets, sh(c.script)); !strings.HasPrefix(out, c.want) {
				t.Errorf("it wrote %q, want %q (exit %+v)", out, c.want, exit)
			}
		})
	}
	t.Run("and what cannot be one is refused", func(t *testing.T) {
		for name, wrong := range map[string]func(*runtime.ContainerSpec){
			"a variable with NUL":      withSecrets("", runtime.Secret{Name: "A", Value: "a\x00b"}),
			"a file outside":           withSecrets("/run/secrets", runtime.Secret{Name: "../a", Value: secretText}),
			"a file without a name":    withSecrets("/run/secrets", runtime.Secret{Name: "..", Value: secretText}),
			"a directory without root": withSecrets("run/secrets", password),
			"the pipes of a daemon":    withSecrets("/run/pinion/mps", password),
			"what is above these":      withSecrets("/run", password),
			"what the kernel tells":    withSecrets("/proc", password),
		} {
			if err := h.runtime.Start(h.ctx(), h.task(wrong, sh("true"))); err == nil || strings.Contains(err.Error(), secretText) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestCommandsHaveTheSecretsOfTheirContainer(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(withSecrets("", password), sh("exec sleep 1000"))
	h.wantSecretInCommands(c)
	h.runtime.Close()
	h.open() // as after a restart of Pinion
	h.wantSecretInCommands(c)
}

// wantSecretInCommands checks that a command beside the container's process has the secret, and the exit code of one that is not there.
func (h *host) wantSecretInCommands(c runtime.ContainerSpec) {
	h.t.Helper()
	var out, errs bytes.Buffer
	code, err := h.runtime.Exec(h.ctx(), c.ID, runtime.ExecRequest{Cmd: []string{"sh", "-c", "echo $DB_PASSWORD; exit 3"}, Stdio: runtime.Stdio{Stdout: &out}})
	if code != 3 || err != nil || out.String() != secretText+"\n" {
		h.t.Errorf("it returned %d, %v and wrote %q", code, err, &out)
	}
	code, err = h.runtime.Exec(h.ctx(), c.ID, runtime.ExecRequest{Cmd: []string{"no-such-program"}, Stdio: runtime.Stdio{Stderr: &errs}})
	if code != 127 || err != nil || !strings.Contains(errs.String(), "no-such-program") {
		h.t.Errorf("a program that is not there: %d, %v, %q", code, err, &errs)
	}
}

func TestSecretsAreInMemoryAlone(t *testing.T) {
	h := newHost(t).withBusybox()
	memory := filepath.Join(h.dir, "runtime", "secrets")
	one := h.start(withSecrets("", password), sh("exec sleep 1000"))
	other := h.start(withSecrets("/run/secrets", password), sh("exec sleep 1000"))
	h.wantSecretInCommands(one)
	var size unix.Statfs_t
	must(t, unix.Statfs(memory, &size))
	var machine unix.Sysinfo_t
	must(t, unix.Sysinfo(&machine))
	if all := size.Blocks * uint64(size.Bsize); all < machine.Totalram*uint64(machine.Unit)*4/10 {
		t.Errorf("tasks with secrets fill %d MiB, and then there is no place for those of others", all>>20)
	}
	if found := filesWith(t, h.dir, secretText); len(found) != 0 {
		t.Errorf("these files have it: %v", found)
	}
	h.runtime.Close()
	must(t, os.MkdirAll(filepath.Join(memory, "forgotten"), 0o700)) // as a crash in the middle of a start leaves it
	h.open()
	if entries, err := os.ReadDir(memory); err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
	must(t, h.runtime.Remove(h.ctx(), one.ID))
	if !isMounted(memory) {
		t.Error("the secrets of the other container are gone")
	}
	must(t, h.runtime.Remove(h.ctx(), other.ID))
	if isMounted(memory) {
		t.Error("the memory stays mounted behind the last container with secrets")
	}
}

// filesWith lists the files on the disk of a directory that have the text; what is mounted below it is not on the disk.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	var top unix.Stat_t
	must(t, unix.Stat(dir, &top))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		var stat unix.Stat_t
		if err != nil || unix.Lstat(path, &stat) != nil {
			return nil // it went meanwhile
		}
		if stat.Dev != top.Dev {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	must(t, err)
	return found
}

func isMounted(dir string) bool {
	raw, _ := os.ReadFile("/proc/self/mounts")
	return strings.Contains(string(raw), " "+dir+" ")
}

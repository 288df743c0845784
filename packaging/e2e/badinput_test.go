package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Bad input gets a clear error, and nothing that was there before is lost.

func TestAHostThatCannotStartSaysWhy(t *testing.T) {
	cases := map[string]struct {
		prepare func(t *testing.T, h *host)
		want    []string
	}{
		"port in use": {func(t *testing.T, h *host) {
			l, err := net.Listen("tcp", h.listen)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}, []string{"address already in use", "--listen"}},
		"data directory of a newer version": {func(t *testing.T, h *host) {
			writeFile(t, h.dir, "pinion.json", `{"format":99,"hostId":"0","poolId":"0"}`)
		}, []string{"written by a newer version"}},
		"nonsense for GPUs":   {func(t *testing.T, h *host) { h.flags = []string{"--gpus", "sim:8xfoo"} }, []string{"foo", "h100"}},
		"no such containerd":  {func(t *testing.T, h *host) { h.flags = []string{"--containerd", "/nonexistent.sock"} }, []string{"/nonexistent.sock"}},
		"a bad attribute":     {func(t *testing.T, h *host) { h.flags = []string{"--attribute", "rack"} }, []string{"rack", "name=value"}},
		"data dir is a file":  {func(t *testing.T, h *host) { writeFile(t, h.dir, "f", ""); h.dir += "/f" }, []string{"not a directory", "--data-dir"}},
		"cluster name of air": {func(t *testing.T, h *host) { h.flags = []string{"--cluster", "a b"} }, []string{"a b", "--cluster"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, "--gpus", "none")
			dir := h.dir
			t.Cleanup(func() {
				h.dir = dir
				exec.Command(binary, "--data-dir", dir, "down", "--purge", "--force").Run()
				os.RemoveAll(dir)
			})
			c.prepare(t, h)
			err := h.tryStart()
			if err == nil {
				h.signalAndWait(t, syscall.SIGTERM)
				t.Fatal("the host started")
			}
			for _, want := range c.want {
				if !strings.Contains(h.output.String(), want) {
					t.Errorf("it says\n%s\nwithout %q", h.output, want)
				}
			}
		})
	}
}

func TestWithoutRootUpSaysSo(t *testing.T) {
	dir, err := os.MkdirTemp("", "pinion-e2e-") // t.TempDir's parent is root's alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "pinion")
	raw, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(copied, "--data-dir", filepath.Join(dir, "data"), "up")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if _, err := output(cmd); err == nil || !strings.Contains(err.Error(), "needs root") {
		t.Errorf("got %v", err)
	}
}

func TestACorruptLogRecordIsRefusedNotServed(t *testing.T) {
	h := up(t, "--gpus", "none")
	h.mustCall(t, "RegisterTaskDefinition", object{"family": "precious", "containerDefinitions": []object{{"name": "c", "image": "pinion/self", "memory": 10}}})
	h.signalAndWait(t, syscall.SIGTERM)
	file := filepath.Join(h.dir, "raft", "raft.db")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := bytes.Clone(raw)
	flipped := 0
	for at := bytes.Index(raw, []byte("precious")); at >= 0; at = bytes.Index(raw, []byte("precious")) {
		raw[at] ^= 1
		flipped++
	}
	if flipped == 0 {
		t.Fatal("the family is not in the log")
	}
	writeFile(t, filepath.Dir(file), filepath.Base(file), string(raw))
	if err := h.tryStart(); err == nil || !strings.Contains(h.output.String(), "checksum") {
		t.Errorf("started with a flipped bit: %v", err)
	}
	writeFile(t, filepath.Dir(file), filepath.Base(file), string(good))
	h.start(t)
	h.mustCall(t, "DescribeTaskDefinition", object{"taskDefinition": "precious"})
}

func TestTasksThatCannotStartSayWhy(t *testing.T) {
	h := sharedHost(t)
	hanging := silentListener(t)
	cases := map[string]struct {
		container object
		want      []string
	}{
		"unknown image":     {object{"image": "busybox:no-such-tag"}, []string{"CannotPullContainerError", "busybox:no-such-tag"}},
		"other machine":     {object{"image": "arm/only:1"}, []string{"CannotPullContainerError", "linux/arm64", "linux/amd64"}},
		"command not found": {object{"command": []string{"/no/such/command"}}, []string{"/no/such/command"}},
		"no registry there": {object{"image": "127.0.0.1:1/x:1"}, []string{"CannotPullContainerError", "127.0.0.1:1"}},
		"registry hangs":    {object{"image": hanging + "/x:1"}, []string{"CannotPullContainerError", hanging}},
	}
	ids := map[string]string{}
	for name, c := range cases {
		family := "bad-" + strings.ReplaceAll(name, " ", "-")
		h.registerShell(t, family, 1, "true", c.container)
		ids[name] = h.runTask(t, family)
	}
	for name, id := range ids {
		task := h.waitStopped(t, id)
		text := fmt.Sprint(task.text("stoppedReason"), task.at("containers", 0))
		for _, want := range cases[name].want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s\nwithout %q", name, text, want)
			}
		}
		if task.text("stopCode") != "TaskFailedToStart" {
			t.Errorf("%s: stopCode %q", name, task.text("stopCode"))
		}
	}
}

func TestBadDefinitionsAreRefusedByName(t *testing.T) {
	h := sharedHost(t)
	gpu := func(value string) string {
		return `{"family":"bad","containerDefinitions":[{"name":"c","image":"i","memory":10,"resourceRequirements":[{"type":"GPU","value":` + value + `}]}]}`
	}
	for _, c := range []struct{ name, body, want string }{
		{"unknown field", `{"family":"bad","containerDefinitions":[{"name":"c","imagee":"i","memory":10}]}`, "imagee"},
		{"wrong type", `{"family":"bad","containerDefinitions":[{"name":"c","image":"i","memory":"ten"}]}`, "memory"},
		{"no GPU", gpu(`"0"`), "0"},
		{"fewer than none", gpu(`"-1"`), "-1"},
		{"half a GPU", gpu(`"1.5"`), "1.5"},
		{"many", gpu(`"many"`), "many"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, a := h.post(t, "RegisterTaskDefinition", c.body)
			if status != 400 || !strings.Contains(a.text("message"), c.want) {
				t.Errorf("%d %v", status, a)
			}
		})
	}
	if a := h.mustCall(t, "ListTaskDefinitions", object{"familyPrefix": "bad"}); len(a.list("taskDefinitionArns")) != 0 {
		t.Errorf("a refused definition was registered: %v", a)
	}
}

func TestABodyOfTenMegabytesIsRefused(t *testing.T) {
	h := sharedHost(t)
	status, a := h.post(t, "RegisterTaskDefinition", `{"family":"`+strings.Repeat("x", 10<<20)+`"}`)
	if status < 400 || status > 499 || a.text("message") == "" {
		t.Errorf("%d %v", status, a)
	}
}

func TestBadSignaturesAndClocksAreRefused(t *testing.T) {
	h := sharedHost(t)
	for _, c := range []struct{ name, script, want string }{
		{"wrong secret", `AWS_SECRET_ACCESS_KEY=wrong aws ecs list-clusters`, "InvalidSignatureException"},
		{"unknown key", `AWS_ACCESS_KEY_ID=AKIAAAAAAAAAAAAAAAAA aws ecs list-clusters`, "UnrecognizedClientException"},
		{"no key", `aws ecs list-clusters --no-sign-request`, "MissingAuthenticationTokenException"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := h.sh(t, c.script); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("clock 20 minutes off", func(t *testing.T) { checkWrongClock(t, h) })
}

// silentListener is a registry that takes a connection and never answers there. It hangs up on later ones: a second try without TLS would
// wait for a minute.
func silentListener(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		silent, err := l.Accept()
		if err != nil {
			return
		}
		defer silent.Close()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return l.Addr().String()
}

func writeFile(t testing.TB, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/exit"
)

// upWith is what `pinion up` gives the program with this file of options.
func upWith(t *testing.T, file string, arguments ...string) (config UpConfig, ran result) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	up := func(_ context.Context, c UpConfig) error { config = c; return nil }
	ran = pinionWith(t, Program{Up: up}, nil, append([]string{"up", "--config", path}, arguments...)...)
	ran.err = strings.ReplaceAll(ran.err, path, "FILE")
	return config, ran
}

func TestUpTakesItsOptionsFromAFile(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	file := `# of gpu-7
name: gpu-7
listen: 127.0.0.1:0
gpus: sim:2xh100
attribute: [rack=a4, ecs.instance-type=p5]
volume:
  - /data
  - models=/mnt/models:ro
allow: NET_ADMIN,host-pid
pids-limit: 100
max-stop-timeout: 2m
user-namespaces: true
max-logs: 10g
keep-tasks: 7d
`
	got, ran := upWith(t, file)
	if ran.code != 0 || !strings.Contains(ran.err, "FILE") {
		t.Fatalf("%+v", ran)
	}
	if got.Name != "gpu-7" || got.GPUs.Source != "sim:2xh100" || got.Attributes["rack"] != "a4" || len(got.Attributes) != 2 || got.Disk.Logs != 10<<30 || got.Disk.KeepTasks != 7*24*time.Hour {
		t.Errorf("%+v", got)
	}
	if c := got.Containers; len(c.Volumes) != 2 || !c.Volumes[1].ReadOnly || !slices.Equal(c.Allow, []string{"NET_ADMIN", "host-pid"}) || c.PidsLimit != 100 || c.MaxStopTimeout != 2*time.Minute || !c.UserNamespaces {
		t.Errorf("%+v", c)
	}
	for _, nothing := range []string{"", "# nothing yet\n", "---\n"} {
		if _, ran := upWith(t, nothing); ran.code != 0 {
			t.Errorf("%q: %+v", nothing, ran)
		}
	}
}

func TestTheCommandLineGoesBeforeTheEnvironmentAndThatBeforeTheFile(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	line, environment, file := t.TempDir(), t.TempDir(), t.TempDir()
	text := "registry-config: " + file + "\nvolume: [/file]\n"
	if got, ran := upWith(t, text, "--volume", "/line"); got.RegistryConfig != file || len(got.Containers.Volumes) != 1 || got.Containers.Volumes[0].Path != "/line" {
		t.Errorf("%+v %+v", got, ran)
	}
	t.Setenv("PINION_REGISTRY_CONFIG", environment)
	if got, ran := upWith(t, text); got.RegistryConfig != environment {
		t.Errorf("%+v %+v", got, ran)
	}
	if got, ran := upWith(t, text, "--registry-config", line); got.RegistryConfig != line {
		t.Errorf("%+v %+v", got, ran)
	}
}

func TestAFileOfOptionsIsRightInAllOfItsMembers(t *testing.T) {
	for file, says := range map[string]string{
		"gpus: auto\nvolumes: [/data]\n":    `FILE:2: there is no option "volumes" (did you mean volume?)`,
		"gpus: auto\ngpus: none\n":          "FILE:2: gpus is there twice",
		"gpus: [auto]\n":                    "FILE:1: gpus takes one value",
		"volume:\n- {a: b}\n":               "FILE:2: volume takes",
		"\n\npids-limit: many\n":            "FILE:3: pids-limit takes a whole number",
		"user-namespaces: yes\n":            "FILE:1: user-namespaces takes true or false",
		"max-logs: big\n":                   "FILE:1: max-logs",
		"name: '-'\n":                       "--name",
		"listen:\n":                         "FILE:1: listen takes one value",
		"- gpus\n":                          "FILE:1: options are needed",
		"gpus: none\n---\ngpus: auto\n":     "one document",
		"gpus: 'none\n":                     "FILE:1: ",
		"servers: 5\n":                      "pinion pool set servers=N",
		"lost-after: 2m\n":                  "pinion pool set lost-after=TIME",
		"replace-after: 2m\n":               "pinion pool set replace-after=TIME",
		"token: pinion1.a.b.c\n":            "token-file",
		"data-dir: /data\n":                 "PINION_DATA_DIR",
		"x: " + strings.Repeat("y", 64<<10): "more than 65536 bytes",
	} {
		got, ran := upWith(t, file)
		if ran.code == 0 || !strings.Contains(ran.err, says) || got.DataDir != "" {
			t.Errorf("%.40q: %+v", file, ran)
		}
	}
}

// `pinion init` looks at the file before it looks at a machine: one that `pinion up` refuses reaches none.
func TestAWrongFileOfOptionsReachesNoMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("gpus: auto\nvolumes: [/data]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := pinionWith(t, Program{}, nil, "init", "--hosts", "gpu-1.invalid", "--dry-run", "--config", path)
	if ran.code != exit.Usage || !strings.Contains(ran.err, path+":2: ") {
		t.Errorf("%+v", ran)
	}
}

// Whoever may write the file decides what tasks may do on the host.
func TestAFileThatOthersMayWriteIsNotUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("allow: privileged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := func(context.Context, UpConfig) error { t.Error("it went through"); return nil }
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, filepath.Dir(path), "/nowhere/config.yaml"} {
		if ran := pinionWith(t, Program{Up: up}, nil, "up", "--config", file); ran.code != exit.Failure || !strings.Contains(ran.err, file) {
			t.Errorf("%+v", ran)
		}
	}
}

// Nor is a file of somebody else's, whatever its mode.
func TestAFileOfAnotherUserIsNotUsed(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("allow: privileged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	up := func(context.Context, UpConfig) error { t.Error("it went through"); return nil }
	if ran := pinionWith(t, Program{Up: up}, nil, "up", "--config", path); ran.code != exit.Failure || !strings.Contains(ran.err, "belongs to another user") {
		t.Errorf("%+v", ran)
	}
}

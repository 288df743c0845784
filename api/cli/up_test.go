package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/raftfsm/volumeroot"
)

func TestUpChecksItsFlagsBeforeItTouchesAnything(t *testing.T) {
	cases := map[string]string{
		"--listen 7400":               `--listen "7400" is not an address such as :7400`,
		"--advertise :7400":           `--advertise ":7400" is not HOST:PORT`,
		"--gpus 8xh100":               `--gpus "8xh100" is not auto, none, or a simulated set such as sim:8xh100`,
		"--gpus sim:0xh100":           `--gpus "sim:0xh100" is not`,
		"--gpus none,mps":             `--gpus "none,mps" is not`,
		"--cluster a/b":               `--cluster "a/b" is not a cluster name`,
		"--attribute rack":            `--attribute "rack" is not name=value`,
		"--attribute rack=":           `--attribute "rack=" is not name=value`,
		"--attribute pinion.x=1":      "--attribute pinion.x cannot be set: Pinion derives it from the GPUs of the host and its own version",
		"--log-level loud":            `--log-level "loud" is not one of debug, info, warn, error`,
		"--registry-config /nowhere/": "--registry-config /nowhere: there is no such directory",
		"--join :7400":                `--join ":7400" is not HOST or HOST:PORT`,
		"--token T":                   "--token and --token-file need --join HOST:PORT, a host of the pool to join",
		"--servers 2":                 "--servers 2 is not 1, 3 or 5",
		"--lost-after -1s":            "--lost-after -1s is not a duration above 0",
		"--lost-after 0s":             "--lost-after 0s is not a duration above 0",
		"--replace-after 0":           "--replace-after 0s is not a duration above 0",
		"--volume data":               `--volume "data" is not DIR, DIR:ro, NAME=DIR or NAME=DIR:ro`,
		"--volume a.b=/data":          `the name "a.b" is not 1 to 64 letters`,
		"--volume =/data":             `the name "" is not 1 to 64 letters`,
		"--allow KILL":                `--allow "KILL" is not privileged, host-pid, host-ipc, or a capability that containers do not have without it`,
		"--allow host-pid,root":       `--allow "root" is not privileged`,
		"--release-key RWQ":           `--release-key: "RWQ" is no public key of minisign`,
		"--pids-limit -1":             "--pids-limit -1 is not a number of processes",
		"--max-stop-timeout 0s":       "--max-stop-timeout 0s is not a duration of a second or more",
		"now":                         `pinion up takes no argument, but got "now"`,
	}
	for line, says := range cases {
		up := func(context.Context, UpConfig) error { t.Errorf("%s went through", line); return nil }
		got := pinionWith(t, Program{Up: up}, nil, append([]string{"up"}, strings.Fields(line)...)...)
		if got.code != 2 || !strings.Contains(got.err, says) {
			t.Errorf("up %s: %+v", line, got)
		}
	}
}

func TestUpGivesTheProgramWhatWasAskedFor(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	var got UpConfig
	up := func(_ context.Context, c UpConfig) error { got = c; return errors.New("port 7400 is in use") }
	dir := t.TempDir()
	ran := pinionWith(t, Program{Up: up}, nil, "up", "--data-dir", dir, "--listen", "127.0.0.1:0", "--advertise", "gpu1:7400", "--gpus", "sim:8xh100", "--containerd", "/run/c.sock",
		"--attribute", "ecs.instance-type=p2.xlarge", "--attribute", "rack=a,b", "--cluster", "lab", "--log-level", "debug", "--registry-config", dir,
		"--join", "gpu1.example.com", "--token", "pinion1.a.b.c", "--servers", "5", "--replace-after", "10m", "--lost-after", "90s",
		"--volume", "/data/", "--volume", "models=/mnt/models:ro", "--allow", "host-pid,CAP_NET_ADMIN", "--allow", "privileged", "--max-stop-timeout", "2m", "--no-new-privileges")
	want := UpConfig{DataDir: dir, Listen: "127.0.0.1:0", Advertise: "gpu1:7400", GPUs: GPUOptions{"sim:8xh100", MIGStatic}, Containerd: "/run/c.sock",
		Attributes: map[string]string{"ecs.instance-type": "p2.xlarge", "rack": "a,b"}, Cluster: "lab", LogLevel: slog.LevelDebug, RegistryConfig: dir,
		Join: "gpu1.example.com:7400", JoinToken: "pinion1.a.b.c", NewPool: PoolOptions{Servers: 5, ReplaceAfter: 10 * time.Minute, LostAfter: 90 * time.Second},
		Containers: ContainerOptions{
			Volumes: []volumeroot.Root{{Path: "/data"}, {Name: "models", Path: "/mnt/models", ReadOnly: true}}, Allow: []string{"host-pid", "NET_ADMIN", "privileged"},
			LogDestinations: []string{"remote"}, PidsLimit: 16384, MaxStopTimeout: 2 * time.Minute, NoNewPrivileges: true,
		}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if ran.code != 1 || ran.err != "pinion: port 7400 is in use\n" {
		t.Errorf("%+v", ran)
	}
}

func TestUpDefaults(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	var got UpConfig
	up := func(_ context.Context, c UpConfig) error { got = c; return nil }
	if ran := pinionWith(t, Program{Up: up}, nil, "up"); ran.code != 0 || !filepath.IsAbs(got.DataDir) {
		t.Errorf("%+v", ran)
	}
	got.DataDir = ""
	want := UpConfig{Listen: ":7400", GPUs: GPUOptions{"auto", MIGStatic}, Attributes: map[string]string{}, RegistryConfig: DefaultRegistryConfig,
		Containers: ContainerOptions{LogDestinations: []string{"remote"}, PidsLimit: 16384, MaxStopTimeout: 10 * time.Minute}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestUpSaysThatTasksRunOnWhenItIsStopped(t *testing.T) {
	if err := localMachine().check(); err != nil {
		t.Skip(err)
	}
	up := func(ctx context.Context, _ UpConfig) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	if ran := pinionWith(t, Program{Up: up}, nil, "up"); ran.code != 0 || !strings.Contains(ran.err, "tasks run on") {
		t.Errorf("%+v", ran)
	}
}

func TestUpSaysWhatTheMachineLacks(t *testing.T) {
	empty, full := t.TempDir(), filepath.Dir(t.TempDir())
	for says, m := range map[string]preflight{
		"this needs Linux": {system: "darwin", cgroups: full},
		"this needs root: pinion creates containers and namespaces. Run it with sudo": {system: "linux", user: 1000, cgroups: full},
		"no control groups are mounted at " + empty:                                   {system: "linux", cgroups: empty},
	} {
		if err := m.check(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	if err := (preflight{system: "linux", cgroups: full}).check(); err != nil {
		t.Error(err)
	}
}

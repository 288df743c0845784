package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"golang.org/x/sys/unix"

	"pinion/api/client"
	runtime "pinion/node/containerd"
	"pinion/node/containerd/cgroup"
	"pinion/node/containerd/daemon"
	"pinion/node/machine"
)

// ThisMachine is the machine that this process runs on; pinion is the client of the one that runs here, or would.
func ThisMachine(pinion *client.Client) Machine {
	return Machine{
		Root: "/", User: os.Geteuid, Release: release, Cgroups: cgroup.Detect, Overlay: daemon.TryOverlay,
		Openat2: openat2, RecursiveReadOnly: mountSetattr, ShortUlimits: runtime.ShortUlimits, Program: program, Persistence: persistence,
		Disk: statDisk, Sync: syncTime, ClockSynced: clockSynced, Now: time.Now, Bind: bind,
		Hosts: pinion.Hosts, Date: dateAt, Containerd: containerdVersion, Registries: registries, Ask: ask,
	}
}

func release() (string, error) {
	var name unix.Utsname
	err := unix.Uname(&name)
	return unix.ByteSliceToString(name.Release[:]), err
}

func openat2() error {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// mountSetattr calls the kernel with a file that is not open: it knows the call when it complains of that.
func mountSetattr() error {
	err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.EBADF) {
		return nil
	}
	return err
}

func program(names ...string) (err error) {
	for _, name := range names {
		if _, err = exec.LookPath(name); err == nil {
			return nil
		}
	}
	return err
}

func persistence(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=persistence_mode", "--format=csv,noheader").Output()
	return string(out), err
}

func statDisk(path string) (Disk, error) {
	measured, err := machine.MeasureDisk(path)
	var stat unix.Statfs_t
	if err == nil {
		err = unix.Statfs(path, &stat)
	}
	return Disk{Size: measured.Size, Free: measured.Free, Files: stat.Files, Spare: stat.Ffree, Type: int64(stat.Type)}, err
}

// syncedWrites is the number of writes of syncTime; the median counts.
const syncedWrites = 9

// syncTime writes a little to a file that has no name, and has the disk keep it.
func syncTime(dir string) (time.Duration, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var took []time.Duration
	for i := range syncedWrites {
		start := time.Now()
		if _, err := unix.Pwrite(fd, make([]byte, 4096), int64(i)*4096); err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(fd); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, err
}

func bind(address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		err = l.Close()
	}
	return err
}

// dateAt asks the host at an address what time it is. Whom it reaches is not checked, as nothing is decided by the answer: a machine
// that has not joined yet knows no authority, and one whose clock is wrong believes none.
func dateAt(ctx context.Context, address string) (time.Time, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/healthz", nil)
	if err != nil {
		return time.Time{}, err
	}
	response, err := (&http.Client{Transport: transport, Timeout: peerTimeout}).Do(request)
	if err != nil {
		return time.Time{}, err
	}
	response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}

// peerTimeout bounds the answer of another host, a registry or containerd.
const peerTimeout = 3 * time.Second

func containerdVersion(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	daemon, err := containerd.New(address, containerd.WithTimeout(peerTimeout))
	if err != nil {
		return "", err
	}
	defer daemon.Close()
	version, err := daemon.Version(ctx)
	return "containerd " + version.Version, err
}

// usualRegistry is the registry of images that name none.
const usualRegistry = "docker.io"

// registries are the mirrors of a configuration, and where Docker Hub is.
func registries(ctx context.Context, dir string) (all []Registry, err error) {
	var options config.HostOptions
	names := []string{usualRegistry}
	if dir != "" {
		certs := filepath.Join(dir, "certs.d")
		options.HostDir = config.HostDirFromRoot(certs)
		entries, err := os.ReadDir(certs)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, entry := range entries {
			if entry.Name() != "_default" && entry.Name() != usualRegistry {
				names = append(names, entry.Name())
			}
		}
	}
	hosts := config.ConfigureHosts(ctx, options)
	for _, name := range names {
		found, err := hosts(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, h := range found {
			all = append(all, Registry{name, h.Scheme + "://" + h.Host + h.Path + "/", h.Client})
		}
	}
	return all, nil
}

// ask reports whether a registry answers, whatever it says.
func ask(ctx context.Context, c *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err == nil {
		response.Body.Close()
	}
	return err
}

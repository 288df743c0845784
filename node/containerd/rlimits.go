package containerd

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/moby/sys/capability"
	"golang.org/x/sys/unix"

	"pinion/raftfsm/spec"
)

// rlimitNumbers are the resources of ulimits.
var rlimitNumbers = map[string]int{
	"core": unix.RLIMIT_CORE, "cpu": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA, "fsize": unix.RLIMIT_FSIZE, "locks": unix.RLIMIT_LOCKS,
	"memlock": unix.RLIMIT_MEMLOCK, "msgqueue": unix.RLIMIT_MSGQUEUE, "nice": unix.RLIMIT_NICE, "nofile": unix.RLIMIT_NOFILE,
	"nproc": unix.RLIMIT_NPROC, "rss": unix.RLIMIT_RSS, "rtprio": unix.RLIMIT_RTPRIO, "rttime": unix.RLIMIT_RTTIME,
	"sigpending": unix.RLIMIT_SIGPENDING, "stack": unix.RLIMIT_STACK,
}

// rlimitSource reads the highest limits of a process that this host can set.
type rlimitSource interface {
	unbounded() bool // it can raise every limit
	hard(resource int) (uint64, error)
}

// hostRlimits reads the limits of this process, which containerd and runc have too.
type hostRlimits struct{}

func (hostRlimits) unbounded() bool {
	own, err := capability.NewPid2(0)
	if err != nil || own.Load() != nil {
		return true // not known: the kernel decides
	}
	return own.Get(capability.EFFECTIVE, capability.CAP_SYS_RESOURCE)
}

func (hostRlimits) hard(resource int) (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(resource, &limit)
	return limit.Max, err
}

// checkRlimits refuses ulimits that the kernel would refuse this host, with what it lacks.
func checkRlimits(ulimits []spec.Ulimit, host rlimitSource) error {
	if len(ulimits) == 0 || host.unbounded() {
		return nil
	}
	for _, u := range ulimits {
		resource, known := rlimitNumbers[strings.ToLower(u.Name)]
		if !known {
			continue
		}
		if most, err := host.hard(resource); err == nil && max(rlimit(u.HardLimit), rlimit(u.SoftLimit)) > most {
			return fmt.Errorf("ulimit %s: this host cannot give more than %d: pinion runs there without the capability SYS_RESOURCE and with that hard limit; "+
				"start pinion with the capability (in a container: --cap-add SYS_RESOURCE), or ask for less", u.Name, most)
		}
	}
	return nil
}

// usualUlimits are the ulimits that GPU jobs want unlimited.
var usualUlimits = []string{"memlock", "nofile", "stack"}

// ShortUlimits are the usual ulimits that this process, and with it this host, cannot make unlimited.
func ShortUlimits() []string {
	if (hostRlimits{}).unbounded() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(usualUlimits), func(name string) bool {
		most, err := hostRlimits{}.hard(rlimitNumbers[name])
		return err != nil || most == unlimited
	})
}

// warnOfRlimits logs at the start of the host which tasks it will have to refuse.
func warnOfRlimits(log *slog.Logger) {
	if short := ShortUlimits(); len(short) > 0 {
		log.Warn("pinion runs without the capability SYS_RESOURCE: tasks that ask for unlimited ulimits are refused", "ulimits", short)
	}
}

package containerd

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/containerd/containerd/v2/contrib/apparmor"
	hostapparmor "github.com/containerd/containerd/v2/pkg/apparmor"

	"pinion/raftfsm/linux"
	"pinion/raftfsm/spec"
)

// apparmorProfile is the name of the default profile in the kernel.
const apparmorProfile = "pinion-default"

// kernelAppArmor is the kernel's switch of AppArmor: Y or N.
const kernelAppArmor = "/sys/module/apparmor/parameters/enabled"

// loadAppArmor loads the default profile, and logs what is missing on a kernel that has AppArmor.
func loadAppArmor(log *slog.Logger) (loaded bool) {
	enabled, _ := os.ReadFile(kernelAppArmor)
	if !strings.HasPrefix(string(enabled), "Y") {
		return false
	}
	err := fmt.Errorf("/sbin/apparmor_parser or /sys/kernel/security/apparmor is missing; install the package apparmor")
	if hostapparmor.HostSupports() {
		err = apparmor.LoadDefaultProfile(apparmorProfile)
	}
	if err != nil {
		log.Warn("the AppArmor profile cannot be loaded: containers run without one", "error", err)
	}
	return err == nil
}

// apparmorLabel names the AppArmor profiles that confine a container: the default profile, except for privileged ones, and the profile
// that the definition names. The kernel allows what both allow, so a named profile cannot loosen; one that it does not know fails the start.
func apparmorLabel(def *spec.ContainerDefinition, loaded bool) (string, error) {
	named := def.AppArmorProfile()
	switch {
	case named != "" && !linux.ValidSecurityOption("apparmor:"+named): // the API refuses it; a host trusts no definition
		return "", fmt.Errorf("the AppArmor profile %q of dockerSecurityOptions is not the name of one; remove it", named)
	case named != "" && !loaded:
		return "", fmt.Errorf("the definition asks for the AppArmor profile %q, and this host has no AppArmor; remove it from dockerSecurityOptions, or use a host whose kernel has it", named)
	case !loaded:
		return "", nil
	case isTrue(def.Privileged):
		return named, nil
	case named == "":
		return apparmorProfile, nil
	}
	return apparmorProfile + "//&" + named, nil
}

package containerd

import (
	"context"
	"log/slog"

	"github.com/containerd/containerd/v2/contrib/apparmor"
	seccompprofile "github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	hostapparmor "github.com/containerd/containerd/v2/pkg/apparmor"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/containerd/v2/pkg/seccomp"
)

// apparmorProfile is the name of the default profile in the kernel.
const apparmorProfile = "pinion-default"

// securityProfile is the kernel's support for confining containers.
type securityProfile struct{ seccomp, apparmor bool }

// detectSecurityProfile detects the support once, and logs what is missing, because containers are less confined without
// it.
func detectSecurityProfile(log *slog.Logger) securityProfile {
	p := securityProfile{seccomp: seccomp.IsEnabled()}
	if !p.seccomp {
		log.Warn("this kernel has no seccomp: containers run without a system call filter")
	}
	if hostapparmor.HostSupports() {
		err := apparmor.LoadDefaultProfile(apparmorProfile)
		if err != nil {
			log.Warn("the AppArmor profile cannot be loaded: containers run without one", "error", err)
		}
		p.apparmor = err == nil
	}
	return p
}

// security applies the default profiles, except to privileged containers.
func (b *specBuilder) security(ctx context.Context, client oci.Client, c *containers.Container, s *oci.Spec) error {
	if isTrue(b.spec.Def.Privileged) {
		return nil
	}
	if b.profile.apparmor {
		s.Process.ApparmorProfile = apparmorProfile
	}
	if b.profile.seccomp {
		return seccompprofile.WithDefaultProfile()(ctx, client, c, s)
	}
	return nil
}

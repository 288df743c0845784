package containerd

import (
	"context"
	"log/slog"

	seccompprofile "github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/containerd/v2/pkg/seccomp"
)

// securityProfile is the kernel's support for confining containers.
type securityProfile struct{ seccomp, apparmor bool }

// detectSecurityProfile detects the support once, and logs what is missing, because containers are less confined without
// it.
func detectSecurityProfile(log *slog.Logger) securityProfile {
	p := securityProfile{seccomp: seccomp.IsEnabled()}
	if !p.seccomp {
		log.Warn("this kernel has no seccomp: containers run without a system call filter")
	}
	p.apparmor = loadAppArmor(log)
	return p
}

// security applies the default profiles, except to privileged containers, and the one that the definition names.
func (b *specBuilder) security(ctx context.Context, client oci.Client, c *containers.Container, s *oci.Spec) error {
	label, err := apparmorLabel(b.spec.Def, b.profile.apparmor)
	if err != nil {
		return err
	}
	s.Process.ApparmorProfile = label
	if b.profile.seccomp && !isTrue(b.spec.Def.Privileged) {
		return seccompprofile.WithDefaultProfile()(ctx, client, c, s)
	}
	return nil
}

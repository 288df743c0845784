package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node/containerd/cgroup"
	"pinion/node/containerd/images"
	"pinion/node/runtime"
)

// buildSpec builds the container's OCI spec. The image contributes to process and environment only: never to privileges,
// hooks, mounts or labels.
func (s *startOperation) buildSpec(ctx context.Context, img *images.Unpacked) (*specs.Spec, error) {
	r := s.runtime
	b := &specBuilder{spec: s.spec, img: img, gpus: r.gpus, cgroups: r.cgroups, profile: r.profile, limits: r.config.Limits, volumes: s.volumes, userns: s.userns.path, shared: s.shared,
		secretFiles: r.secrets, entrypointFile: r.config.Entrypoint}
	spec, err := oci.GenerateSpec(ctx, r.client, &s.record,
		oci.WithDefaultUnixDevices,
		oci.WithoutRunMount,
		oci.WithCgroup(s.group),
		b.checkUnsupported,
		b.process,
		b.user,
		b.capabilities,
		b.namespaces,
		b.mounts,
		b.resources,
		b.security,
		b.devices,
		b.entrypoint,
	)
	if err != nil {
		return nil, err
	}
	return spec, checkHooks(spec.Hooks)
}

// specBuilder holds the inputs of a spec. Its methods build the parts, in order.
type specBuilder struct {
	spec    runtime.ContainerSpec
	img     *images.Unpacked
	gpus    *deviceInjector
	cgroups cgroup.Manager
	profile securityProfile
	limits  Limits
	volumes *volumeMounts
	userns  string // path of the container's user namespace; empty: it has none
	shared  sharedNamespaces

	secretFiles    *secretFiles
	entrypointFile string // path of pinion-entrypoint
}

// checkUnsupported refuses settings that this runtime does not support.
func (b *specBuilder) checkUnsupported(ctx context.Context, _ oci.Client, _ *containers.Container, _ *oci.Spec) error {
	if err := checkRlimits(b.spec.Def.Ulimits, hostRlimits{}); err != nil {
		return err
	}
	if !isTrue(b.spec.Def.Privileged) {
		return nil
	}
	gpus, err := b.gpus.hasDevices(ctx)
	if err != nil {
		return err
	}
	if gpus {
		return errors.New("privileged is refused on a host with GPUs, because the container could use the GPUs of every other task; add the capabilities it needs instead (linuxParameters.capabilities)")
	}
	return nil
}

// process sets the command line (entry point and command combined as docker does), directory, environment and terminal.
func (b *specBuilder) process(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
	def, config := b.spec.Def, b.img.Config
	args := slices.Concat(config.Entrypoint, config.Cmd)
	switch {
	case len(def.EntryPoint) > 0:
		args = slices.Concat(def.EntryPoint, def.Command)
	case len(def.Command) > 0:
		args = slices.Concat(config.Entrypoint, def.Command)
	}
	if len(args) == 0 {
		return fmt.Errorf("neither the task definition nor image %s says what to run; set command", b.spec.Image.Ref)
	}
	s.Process.Args = args
	s.Process.Cwd = firstOf(def.WorkingDirectory, config.WorkingDir, "/")
	s.Process.NoNewPrivileges = b.limits.NoNewPrivileges || def.NoNewPrivileges()
	s.Process.Terminal = isTrue(def.PseudoTerminal)
	// Without an explicit value the process would inherit the shim's, which the OOM killer spares.
	s.Process.OOMScoreAdj = new(int)
	s.Process.Rlimits = rlimits(def.Ulimits)
	s.Hostname = def.Hostname
	if s.Hostname == "" && b.spec.Network == hostNetwork {
		s.Hostname, _ = os.Hostname()
	}
	if s.Hostname == "" {
		s.Hostname = b.spec.ID[:min(12, len(b.spec.ID))]
	}
	s.Root.Readonly = isTrue(def.ReadonlyRootFilesystem)
	return nil
}

// environment merges the variables; later sources win: the image, the devices, the definition, the agent.
func (b *specBuilder) environment(s *oci.Spec) []string {
	env := newEnvList("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME="+s.Hostname)
	if s.Process.Terminal {
		env.set("TERM=xterm")
	}
	env.set(b.img.Config.Env...)
	env.set(s.Process.Env...)
	for _, v := range b.spec.Def.Environment {
		env.set(v.Name + "=" + v.Value)
	}
	env.set(b.spec.Env...)
	env.exceptFromProxies(b.spec.Env)
	return env.variables
}

// devices gives access to exactly the container's GPUs, and merges the environment, to which CDI devices contribute. A
// privileged container, which only hosts without GPUs accept, gets every device.
func (b *specBuilder) devices(ctx context.Context, client oci.Client, c *containers.Container, s *oci.Spec) error {
	if isTrue(b.spec.Def.Privileged) {
		if err := oci.ApplyOpts(ctx, client, c, s, oci.WithAllDevicesAllowed, oci.WithHostDevices); err != nil {
			return err
		}
	}
	s.Process.Env = nil
	if err := b.gpus.inject(ctx, s, b.spec.GPUs); err != nil {
		return err
	}
	if err := b.hostDevices(s); err != nil {
		return err
	}
	if b.userns != "" {
		if err := b.mountDevices(s); err != nil {
			return err
		}
	}
	s.Process.Env = b.environment(s)
	return nil
}

// metadataVariable is the one of the task metadata endpoint, and metadataAddress where that is.
const metadataVariable, metadataAddress = "ECS_CONTAINER_METADATA_URI_V4=", "169.254.170.2"

// exceptFromProxies keeps a container with a proxy in its environment from sending requests for the task metadata endpoint, if it has one, to that:
// Amazon's SDKs would.
func (v *envList) exceptFromProxies(own []string) {
	if !slices.ContainsFunc(own, func(entry string) bool { return strings.HasPrefix(entry, metadataVariable) }) {
		return
	}
	for _, names := range [][3]string{{"HTTP_PROXY", "NO_PROXY", "no_proxy"}, {"http_proxy", "no_proxy", "NO_PROXY"}} {
		if v.get(names[0]) == "" {
			continue
		}
		except := firstOf(v.get(names[1]), v.get(names[2])) // programs that read one spelling do not read the other behind it
		if !strings.Contains(except, metadataAddress) {
			except = strings.TrimPrefix(except+","+metadataAddress, ",")
		}
		v.set(names[1] + "=" + except)
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// envList is an environment in which the last value of a name wins, at the position of its first one.
type envList struct {
	variables []string
	index     map[string]int
}

func newEnvList(entries ...string) *envList {
	v := &envList{index: map[string]int{}}
	v.set(entries...)
	return v
}

// get is the value of a variable; empty when it is not set.
func (v *envList) get(name string) string {
	if at, known := v.index[name]; known {
		return strings.TrimPrefix(v.variables[at], name+"=")
	}
	return ""
}

func (v *envList) set(entries ...string) {
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		if at, known := v.index[name]; known {
			v.variables[at] = entry
			continue
		}
		v.index[name] = len(v.variables)
		v.variables = append(v.variables, entry)
	}
}

package containerd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/containerd/v2/pkg/oci"
	"golang.org/x/sys/unix"

	"pinion/node/runtime"
	"pinion/raftfsm/label"
)

const (
	// secretsPath is the path in a container of the file that pinion-entrypoint reads.
	secretsPath = "/run/pinion/secrets"
	// maxSecretMemory bounds the secrets of all containers of a host, as the option of a file system in memory says it. Tasks have a bound each
	// (package node/secrets), which is less than the memory that the smallest task reserves: together they do not get there.
	maxSecretMemory = "50%"
)

// secretFiles is a directory in memory with one directory for each container that has secrets. It is mounted while there is one, so a host without
// secrets has no mount, and it outlives Pinion, as containers do.
type secretFiles struct {
	dir string
	mu  sync.Mutex // guards the mount
}

// write makes the files of a container: one for each secret, which every process there may read, or one with all variables, which the owner alone may.
// It returns the path of what the container is to mount.
func (f *secretFiles) write(id string, secrets []runtime.Secret, asFiles bool, owner int) (path string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mount(); err != nil {
		return "", err
	}
	path = f.path(id)
	if err := errors.Join(os.RemoveAll(path), os.Mkdir(path, 0o500), os.Chmod(path, 0o555)); err != nil {
		return "", err
	}
	if asFiles {
		for _, s := range secrets {
			if err := writeSecret(path, s.Name, s.Value, owner, 0o444); err != nil {
				return "", err
			}
		}
		return path, nil
	}
	var variables strings.Builder
	for _, s := range secrets {
		if strings.Contains(s.Value, "\x00") {
			return "", fmt.Errorf("the secret %s has a NUL byte, which no variable can have: the label pinion.secret-files gives the container files", s.Name)
		}
		variables.WriteString(s.Name + "=" + s.Value + "\x00")
	}
	return filepath.Join(path, environmentFile), writeSecret(path, environmentFile, variables.String(), owner, 0o400)
}

// environmentFile has the variables of a container.
const environmentFile = "environment"

func writeSecret(dir, name, value string, owner int, mode os.FileMode) error {
	if name != filepath.Base(name) || strings.Trim(name, ".") == "" {
		return fmt.Errorf("no file can have the name %q of the secret", name)
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Chown(owner, owner), file.Chmod(mode), file.Close())
}

// mount mounts the file system in memory unless there is one. It is not swapped out where the kernel can promise that.
func (f *secretFiles) mount() error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if isMountPoint(f.dir) {
		return nil
	}
	flags, options := uintptr(unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC), "mode=0700,size="+maxSecretMemory
	err := unix.Mount("pinion-secrets", f.dir, "tmpfs", flags, options+",noswap")
	if errors.Is(err, unix.EINVAL) { // before Linux 6.4
		err = unix.Mount("pinion-secrets", f.dir, "tmpfs", flags, options)
	}
	if err != nil {
		return fmt.Errorf("mount a file system in memory for secrets at %s: %w", f.dir, err)
	}
	return nil
}

// isMountPoint reports whether something is mounted at a directory: only this package mounts there.
func isMountPoint(dir string) bool {
	var its, above unix.Stat_t
	return unix.Stat(dir, &its) == nil && unix.Stat(filepath.Dir(dir), &above) == nil && its.Dev != above.Dev
}

// remove removes the files of a container, and the mount with the last of them.
func (f *secretFiles) remove(id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.RemoveAll(f.path(id)); err != nil {
		return fmt.Errorf("remove the secrets of container %s: %w", id, err)
	}
	return f.unmountIfEmpty()
}

// removeStale removes the files of containers that no longer exist.
func (f *secretFiles) removeStale(known map[string]bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			err = errors.Join(err, os.RemoveAll(f.path(entry.Name())))
		}
	}
	return errors.Join(err, f.unmountIfEmpty())
}

func (f *secretFiles) unmountIfEmpty() error {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) > 0 {
		return err
	}
	if err := unix.Unmount(f.dir, unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: nothing is mounted there
		return fmt.Errorf("unmount %s: %w", f.dir, err)
	}
	return nil
}

func (f *secretFiles) path(id string) string { return filepath.Join(f.dir, filepath.Base(id)) }

// secrets are the secrets of the container. A variable that the host sets itself, such as the limits of a share of a GPU, takes no secret.
func (b *specBuilder) secrets() []runtime.Secret {
	if b.spec.SecretFiles != "" {
		return b.spec.Secrets
	}
	return slices.DeleteFunc(slices.Clone(b.spec.Secrets), func(s runtime.Secret) bool {
		return slices.ContainsFunc(b.spec.Env, func(known string) bool { return strings.HasPrefix(known, s.Name+"=") })
	})
}

// mountSecrets gives the container its secrets: as files, or in the file at secretsPath, from which pinion-entrypoint adds them to the environment.
// Nothing of the spec has a value: the runtime writes it to a disk.
func (b *specBuilder) mountSecrets(s *oci.Spec) error {
	owner := int(s.Process.User.UID)
	if b.userns != "" {
		owner += int(b.spec.IDs.First)
	}
	path, err := b.secretFiles.write(b.spec.ID, b.secrets(), b.spec.SecretFiles != "", owner)
	if err != nil {
		return err
	}
	destination := firstOf(b.spec.SecretFiles, secretsPath)
	if b.spec.SecretFiles != "" && !label.ValidSecretFiles(destination) {
		return fmt.Errorf("the directory of the secrets must be an absolute path, and none of the runtime's or Pinion's own, not %.255q", destination)
	}
	source, err := b.volumes.attachAsIs(ownFile(path), true)
	if err != nil {
		return fmt.Errorf("secrets at %s: %w", destination, err)
	}
	b.mount(s, bindMount(source, destination))
	return nil
}

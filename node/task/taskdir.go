package task

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"pinion/node/filetree"
	"pinion/node/runtime"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
)

// taskDir is the directory of one task on this host: <Dir>/tasks/<task id> with
//
//	volumes/<n>         the n-th volume of the definition, when it names no directory of the host
//	containers/<id>/    hosts and resolv.conf of a container, the id of its task metadata endpoint, and how often it was started again
//	ids                 the first id of the host of its user namespaces; a task without them has none
//	started             when all containers had started: id of the boot, nanoseconds since it
//
// It is there from before the task's first container until after the last one is removed, so what is found in it at
// start also tells which networks may need cleaning up.
type taskDir struct{ path string }

// Dirs is the directory of all tasks' directories under the agent's directory.
func Dirs(dir string) string { return filepath.Join(dir, "tasks") }

// ListDirs lists the ids of the tasks that have a directory on this host.
func ListDirs(dir string) ([]string, error) { return fileNames(Dirs(dir)) }

// RemoveDir detaches a former task from the network, and removes its directory.
func RemoveDir(ctx context.Context, dir, taskID string, network runtime.Network) error {
	d := newTaskDir(dir, taskID)
	containers, err := fileNames(filepath.Join(d.path, "containers"))
	if err != nil {
		return err
	}
	for _, id := range append(containers, taskID) {
		if err := network.Detach(ctx, id); err != nil {
			return err
		}
	}
	return d.remove()
}

func newTaskDir(dir, taskID string) taskDir {
	return taskDir{path: filepath.Join(Dirs(dir), taskID)}
}

// createVolumes makes the task's volumes, by name. A directory of the host that is missing is made, as ECS does.
func (d taskDir) createVolumes(volumes []spec.Volume, roots *volume.Roots) (map[string]runtime.Volume, error) {
	all := map[string]runtime.Volume{}
	for i, v := range volumes {
		if v.EFS != nil {
			continue // a hook mounts it first
		}
		if !v.Docker.Shared() && (v.Host == nil || v.Host.SourcePath == "") {
			path := filepath.Join(d.path, "volumes", strconv.Itoa(i))
			if err := createScratch(path); err != nil {
				return nil, fmt.Errorf("volume %s: %w", v.Name, err)
			}
			all[v.Name] = runtime.Volume{Path: path}
			continue
		}
		found, err := openVolume(v, roots)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", v.Name, err)
		}
		all[v.Name] = runtime.Volume{Host: found}
	}
	return all, nil
}

// openVolume finds a volume that outlives the task, and makes it unless it is a shared one that has to be there.
func openVolume(v spec.Volume, roots *volume.Roots) (found *volume.Volume, err error) {
	if v.Docker.Shared() {
		return roots.FindShared(v.Name, v.Docker.Makes())
	}
	if found, err = roots.Find(v.Host.SourcePath); err != nil {
		return nil, err
	}
	return found, found.Make()
}

// createScratch sets the mode past the umask, because containers of any user share scratch space. What is there already
// is left as it is.
func createScratch(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o777)
}

// containerDir is the directory of a container's files.
func (d taskDir) containerDir(id string) string { return filepath.Join(d.path, "containers", id) }

// createContainerDir makes the directory of a container's files.
func (d taskDir) createContainerDir(id string) (string, error) {
	dir := d.containerDir(id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("scratch directory: %w", err)
	}
	return dir, nil
}

// keepRestarts notes how often a container was started again.
func (d taskDir) keepRestarts(id string, n int64) error {
	return os.WriteFile(filepath.Join(d.containerDir(id), "restarts"), strconv.AppendInt(nil, n, 10), 0o600)
}

// restarts is the count that keepRestarts has noted; 0: none that is a number.
func (d taskDir) restarts(id string) int64 {
	text, _ := os.ReadFile(filepath.Join(d.containerDir(id), "restarts"))
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
}

// remove removes the directory, and then gives the ids of the task's user namespaces back: nothing of it has them any more.
func (d taskDir) remove() error {
	ids, err := d.ids()
	if err == nil {
		err = filetree.Remove(context.Background(), d.path)
	}
	if err == nil {
		err = d.releaseIDs(ids)
	}
	if err != nil {
		return fmt.Errorf("scratch directory: %w", err)
	}
	return nil
}

// fileNames lists a directory; one that is not there is empty.
func fileNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	all := make([]string, 0, len(entries))
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all, nil
}
